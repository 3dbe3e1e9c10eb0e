from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.kerberos import Kerberos, Protection
from acidsql.metastore.tokens import TokenFile
from acidsql.session import setting_names
from acidsql.session.settings import HadoopTokens, read_settings

pytestmark = pytest.mark.spark


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """Return a session whose settings no other test sees."""
    return spark.newSession()


def test_kerberos_is_asked_for_as_hive_s_client_is(session: SparkSession) -> None:
    assert read_settings(session).kerberos is None
    session.conf.set("hive.metastore.kerberos.principal", "hive/_HOST@EXAMPLE.COM")
    assert read_settings(session).kerberos is None
    session.conf.set("hive.metastore.sasl.enabled", "true")
    tokens = HadoopTokens(session, "")
    assert read_settings(session).kerberos == Kerberos(
        principal="hive/_HOST@EXAMPLE.COM", token=tokens
    )
    session.conf.set("spark.acidsql.metastore.kerberos.principal", "hms/_HOST@EXAMPLE.COM")
    session.conf.set("spark.acidsql.metastore.kerberos.host", "node7")
    session.conf.set("spark.hadoop.hadoop.rpc.protection", "integrity,privacy")
    assert read_settings(session).kerberos == Kerberos(
        principal="hms/_HOST@EXAMPLE.COM",
        host="node7",
        protection=Protection.INTEGRITY,
        token=tokens,
    )


def test_tokens_need_no_principal(session: SparkSession) -> None:
    session.conf.set("hive.metastore.sasl.enabled", "true")
    session.conf.set("hive.metastore.token.signature", "mine")
    assert read_settings(session).kerberos == Kerberos(token=HadoopTokens(session, "mine"))
    session.conf.set("spark.acidsql.metastore.kerberos.principal", "")
    assert read_settings(session).kerberos is None
    session.conf.set("spark.acidsql.metastore.kerberos.tokenFile", "/keys/token")
    assert read_settings(session).kerberos == Kerberos(token=TokenFile("/keys/token", "mine"))


def test_commits_wait_for_the_disk_unless_that_is_off(session: SparkSession) -> None:
    session.conf.unset("spark.acidsql.synchronous")
    assert read_settings(session).synchronous
    session.conf.set("spark.acidsql.synchronous", "OFF")
    assert not read_settings(session).synchronous


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("spark.acidsql.lock.timeout", "soon", "is 'soon': give a number of seconds"),
        ("spark.acidsql.synchronous", "normal", "is 'normal': give full or off"),
        ("spark.acidsql.objectStore.schemes", "s3a, file", "give schemes, such as s3a,"),
        ("spark.acidsql.objectStore.schemes", "s3a://", "give schemes, such as s3a,"),
        ("hadoop.rpc.protection", "auth-conf", "one or several of authentication, integrity"),
    ],
)
def test_values_that_are_none(session: SparkSession, key: str, value: str, message: str) -> None:
    session.conf.set("spark.acidsql.metastore.kerberos.principal", "hive/_HOST@EXAMPLE.COM")
    session.conf.set(key, value)
    with pytest.raises(AcidAnalysisError, match=f"INVALID_CONF_VALUE.*{message}"):
        read_settings(session)


def test_settings_that_there_are_not_are_warned_of_once(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting_names, "_said", set())
    session.conf.set("spark.acidsql.lockTimeout", "60")
    with pytest.warns(UserWarning, match="there is no setting spark") as said:
        read_settings(session)
    session.conf.set("spark.acidsql.retrys", "9")
    session.conf.set("spark.acidsql.nonsense.of.mine", "9")
    with pytest.warns(UserWarning, match="there is no setting spark") as later:
        read_settings(session)
    read_settings(session)  # a warning would be an error
    assert [str(one.message) for one in said] == [
        "there is no setting spark.acidsql.lockTimeout: is it spark.acidsql.lock.timeout?"
    ]
    assert sorted(str(one.message) for one in later) == [
        "there is no setting spark.acidsql.nonsense.of.mine",
        "there is no setting spark.acidsql.retrys: is it spark.acidsql.retries?",
    ]
