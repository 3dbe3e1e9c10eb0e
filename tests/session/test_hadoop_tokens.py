"""Tests of tokens that Hadoop itself wrote and hands on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.metastore.tokens import KIND, DelegationToken, TokenFile, read_credentials
from acidsql.session.settings import HadoopTokens

pytestmark = pytest.mark.spark

_TOKEN = DelegationToken(identifier=b"\0\xff" * 200, password=b"\xfb\xfc", service="mine")
_HDFS = DelegationToken(
    identifier=b"", password=b"", kind="HDFS_DELEGATION_TOKEN", service="nn:8020"
)


def java_token(hadoop: Any, token: DelegationToken) -> Any:
    text = hadoop.io.Text
    return hadoop.security.token.Token(
        bytearray(token.identifier),
        bytearray(token.password),
        text(token.kind),
        text(token.service),
    )


def test_what_hadoop_writes_is_read(spark: SparkSession, tmp_path: Path) -> None:
    hadoop = spark._jvm.org.apache.hadoop
    credentials = hadoop.security.Credentials()
    for alias, token in (("one", _TOKEN), ("other", _HDFS)):
        made = java_token(hadoop, token)
        assert DelegationToken.parse(made.encodeToUrlString()) == token
        credentials.addToken(hadoop.io.Text(alias), made)
    credentials.addSecretKey(hadoop.io.Text("key"), bytearray(b"secret"))
    file = tmp_path / "tokens"
    path = hadoop.fs.Path(file.as_uri())
    credentials.writeTokenStorageFile(path, bridge.hadoop_conf(spark))
    tokens = read_credentials(file.read_bytes())
    assert sorted(tokens, key=lambda token: token.kind) == [_HDFS, _TOKEN]
    assert TokenFile(file, "mine").current() == _TOKEN


def test_tokens_of_the_user(spark: SparkSession) -> None:
    source = HadoopTokens(spark, "mine")
    assert source.current() is None
    hadoop = spark._jvm.org.apache.hadoop
    user = hadoop.security.UserGroupInformation.getCurrentUser()
    for token in (_TOKEN, _HDFS):
        user.addToken(hadoop.io.Text(token.kind), java_token(hadoop, token))
    try:
        assert source.current() == _TOKEN
        assert HadoopTokens(spark, "").current() is None
    finally:
        # Nothing takes tokens of a user back; this one is of no service.
        gone = DelegationToken(identifier=b"", password=b"", kind="NONE", service="none")
        user.addToken(hadoop.io.Text(KIND), java_token(hadoop, gone))
    assert source.current() is None
