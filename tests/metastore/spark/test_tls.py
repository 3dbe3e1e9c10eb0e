"""Tests of sessions whose metastore speaks TLS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql import SparkSession

from acidsql.errors import MetastoreError
from tests.metastore.server.launcher import MetastoreServer, ServerCertificate
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

_PREFIX = "hive.metastore"


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """Yield what closes clients."""
    with ExitStack() as stack:
        yield stack


def test_settings_of_acidsql_and_of_hive(
    spark: SparkSession,
    tls_server: MetastoreServer,
    certificate: ServerCertificate,
    clients: ExitStack,
) -> None:
    uri = f"thrift://localhost:{tls_server.port}"
    ours, hives = Client(spark, uri), Client(spark, uri)
    ours.spark.conf.set("spark.acidsql.metastore.tls.enabled", "true")
    ours.spark.conf.set("spark.acidsql.metastore.tls.caFile", str(certificate.pem))
    hives.spark.conf.set(f"{_PREFIX}.use.SSL", "true")
    hives.spark.conf.set(f"{_PREFIX}.truststore.path", str(certificate.trust_store))
    hives.spark.conf.set(f"{_PREFIX}.truststore.password", certificate.password)
    for client in (ours, hives):
        clients.callback(client.close)
    ours.sql("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    ours.sql("INSERT INTO t VALUES (1), (2)")
    hives.sql("UPDATE t SET id = 3 WHERE id = 1")
    assert ours.sql("SELECT * FROM t") == [(2,), (3,)]
    ours.sql("DROP TABLE t")


def test_a_trust_store_that_cannot_be_read(
    spark: SparkSession, tls_server: MetastoreServer, certificate: ServerCertificate
) -> None:
    client = Client(spark, f"thrift://localhost:{tls_server.port}")
    client.spark.conf.set(f"{_PREFIX}.use.SSL", "true")
    client.spark.conf.set(f"{_PREFIX}.truststore.path", str(certificate.trust_store))
    client.spark.conf.set(f"{_PREFIX}.truststore.password", "another one")
    with pytest.raises(MetastoreError, match=f"check the file and {_PREFIX}.truststore") as raised:
        client.sql("SHOW TABLES")
    assert raised.value.condition == "METASTORE_AUTHENTICATION"
