"""Delegation tokens of the metastore that Hadoop's user has."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.metastore.tokens import DelegationToken, newest_token


@dataclass(frozen=True, slots=True)
class HadoopTokens:
    """Tokens of Hadoop's user, as the source of a `acidsql.metastore.kerberos.Kerberos`.

    They are looked up for each new connection: Spark puts new ones there in the course of time.

    Attributes:
        spark: the session.
        service: of the token that is meant (``hive.metastore.token.signature``).
    """

    spark: SparkSession
    service: str

    def current(self) -> DelegationToken | None:
        """Return the token of the metastore that ends last; None if there is none.

        Raises:
            MetastoreError: METASTORE_AUTHENTICATION, the JVM does not answer any more.
        """
        tokens = [DelegationToken.parse(text) for text in bridge.hadoop_tokens(self.spark)]
        return newest_token(tokens, self.service)
