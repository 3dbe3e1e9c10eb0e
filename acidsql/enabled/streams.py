"""``spark.readStream`` and ``df.writeStream`` of enabled sessions, which refuse ACID tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamReader, DataStreamWriter

from acidsql import api
from acidsql.enabled.routing import instead_of, is_routed, named, named_table
from acidsql.enabled.source_format import register_source
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table
from acidsql.session.acid_session import AcidSession


def read_stream(original: Any) -> property:
    """Return the replacement of ``SparkSession.readStream``."""
    return instead_of(
        original, lambda spark: AcidDataStreamReader(spark) if is_routed(spark) else None
    )


def write_stream(original: Any) -> property:
    """Return the replacement of ``DataFrame.writeStream``."""
    return instead_of(
        original, lambda df: AcidDataStreamWriter(df) if is_routed(df.sparkSession) else None
    )


class AcidDataStreamReader(DataStreamReader):  # type: ignore[misc]  # PySpark is untyped here
    """PySpark's reader of streams, which refuses the names of ACID tables."""

    def format(self, source: str) -> AcidDataStreamReader:
        """See PySpark, whose ``load`` calls it too. ``acidsql`` needs no ``acidsql.register``.

        Raises:
            AcidAnalysisError: see ``acidsql.register``.
        """
        register_source(self._spark, source)
        super().format(source)
        return self

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Read a table of Spark as a stream.

        Raises:
            AcidAnalysisError: UNSUPPORTED_FEATURE.STREAMING_READ, the table is an ACID table.
        """
        if _is_acid(self._spark, tableName, named):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.STREAMING_READ",
                f"{tableName} is transactional, and its changes are what can be read as a stream: "
                f"spark.readStream.format('acidsql').load('{tableName}')",
            )
        return super().table(tableName)


class AcidDataStreamWriter(DataStreamWriter):  # type: ignore[misc]  # PySpark is untyped here
    """PySpark's writer of streams, which refuses ACID tables."""

    def toTable(self, tableName: str, *args: Any, **kwargs: Any) -> Any:  # noqa: N802, N803
        """Write a stream to a table of Spark.

        Raises:
            AcidAnalysisError: UNSUPPORTED_FEATURE.STREAMING_WRITE, the table is an ACID table.
        """
        if _is_acid(self._spark, tableName, named_table):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.STREAMING_WRITE",
                f"{tableName} is transactional: write the stream into it with "
                f"acidsql.write_stream(frame, '{tableName}', 'checkpoint').start()",
            )
        return super().toTable(tableName, *args, **kwargs)


def _is_acid(
    spark: SparkSession, name: str, find: Callable[[AcidSession, str], Table | None]
) -> bool:
    if not is_routed(spark):
        return False
    with api.working(spark) as session:
        return find(session, name) is not None
