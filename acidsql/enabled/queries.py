"""``spark.sql``, ``spark.table`` and ``spark.read.table`` of enabled sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader

from acidsql import api
from acidsql.enabled.routing import instead_of, is_routed, named
from acidsql.errors import AcidAnalysisError

_TIME_TRAVEL = ("versionasof", "timestampasof")


def sql(original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    """Return the replacement of ``SparkSession.sql``."""

    @wraps(original)
    def run(
        self: SparkSession,
        sqlQuery: str,  # noqa: N803 - PySpark's name
        args: Mapping[str, Any] | Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> DataFrame:
        def on_spark() -> DataFrame:
            return original(self, sqlQuery, args, **kwargs)

        return api.run(self, sqlQuery, args, kwargs, on_spark) if is_routed(self) else on_spark()

    return run


def table(original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    """Return the replacement of ``SparkSession.table``."""

    @wraps(original)
    def read_table(self: SparkSession, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        rows = _rows(self, tableName) if is_routed(self) else None
        return original(self, tableName) if rows is None else rows

    return read_table


def _rows(spark: SparkSession, name: str) -> DataFrame | None:
    """Return the rows of a table or view of the metastore; None if it has none of this name."""
    with api.working(spark) as session:
        return None if named(session, name) is None else api.table(spark, name)


def read(original: Any) -> property:
    """Return the replacement of ``SparkSession.read``."""
    return instead_of(
        original, lambda spark: AcidDataFrameReader(spark) if is_routed(spark) else None
    )


class AcidDataFrameReader(DataFrameReader):  # type: ignore[misc]  # PySpark is untyped here
    """PySpark's reader, whose ``table`` finds ACID tables."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._has_schema = False
        self._keys: set[str] = set()

    def schema(self, schema: Any) -> AcidDataFrameReader:
        """See PySpark."""
        super().schema(schema)
        self._has_schema = True
        return self

    def option(self, key: str, value: Any) -> AcidDataFrameReader:
        """See PySpark."""
        super().option(key, value)
        self._keys.add(key.lower())
        return self

    def options(self, **options: Any) -> AcidDataFrameReader:
        """See PySpark."""
        super().options(**options)
        self._keys.update(key.lower() for key in options)
        return self

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Read a table. Options have no effect, as with Spark's own tables.

        Raises:
            AcidAnalysisError: UNSUPPORTED_FEATURE.TIME_TRAVEL, an option asks for another version
                of an ACID table.
        """
        spark = self._spark
        rows = _rows(spark, tableName) if is_routed(spark) and not self._has_schema else None
        if rows is None:
            return super().table(tableName)
        if self._keys.intersection(_TIME_TRAVEL):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.TIME_TRAVEL",
                f"{tableName} cannot be read as of an earlier version or time: leave versionAsOf "
                "and timestampAsOf out",
            )
        return rows
