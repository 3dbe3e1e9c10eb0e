"""``spark.sql``, ``spark.table`` and ``spark.read.table`` of enabled sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader

from acidsql import api, change_feed
from acidsql.enabled.routing import instead_of, is_routed, named
from acidsql.enabled.source_format import register_source, register_source_of
from acidsql.errors import AcidAnalysisError

# Delta Lake's options, and the corresponding arguments of ``acidsql.table``.
_TIME_TRAVEL = {"versionasof": "version", "timestampasof": "timestamp"}
# Options of Delta Lake and Spark, and the corresponding arguments of ``acidsql.changes``.
_CHANGES = {
    "startingversion": "from_version",
    "endingversion": "to_version",
    "startingtimestamp": "from_timestamp",
    "endingtimestamp": "to_timestamp",
}
_INCLUSIVE = {
    "startingboundinclusive": "starting_bound_inclusive",
    "endingboundinclusive": "ending_bound_inclusive",
}
_CHANGE_FEED, _DEDUPLICATION, _NET = "readchangefeed", "deduplicationmode", "netchanges"


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

        if not is_routed(self):
            return on_spark()
        register_source_of(self, sqlQuery)
        return api.run(self, sqlQuery, args, kwargs, on_spark)

    return run


def table(original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    """Return the replacement of ``SparkSession.table``."""

    @wraps(original)
    def read_table(self: SparkSession, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        rows = _rows(self, tableName) if is_routed(self) else None
        return original(self, tableName) if rows is None else rows

    return read_table


def _rows(spark: SparkSession, name: str, **version: Any) -> DataFrame | None:
    """Return the rows of a metastore table or view; None if the metastore lacks the name."""
    with api.working(spark) as session:
        return None if named(session, name) is None else api.table(spark, name, **version)


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
        self._versions: dict[str, Any] = {}
        self._bounds: dict[str, Any] = {}
        self._is_feed = False

    def format(self, source: str) -> AcidDataFrameReader:
        """See PySpark, whose ``load`` calls it too. ``acidsql`` needs no ``acidsql.register``.

        Raises:
            AcidAnalysisError: see ``acidsql.register``.
        """
        register_source(self._spark, source)
        super().format(source)
        return self

    def schema(self, schema: Any) -> AcidDataFrameReader:
        """See PySpark."""
        super().schema(schema)
        self._has_schema = True
        return self

    def option(self, key: str, value: Any) -> AcidDataFrameReader:
        """See PySpark."""
        super().option(key, value)
        self._note(key, value)
        return self

    def options(self, **options: Any) -> AcidDataFrameReader:
        """See PySpark."""
        super().options(**options)
        for key, value in options.items():
            self._note(key, value)
        return self

    def _note(self, key: str, value: Any) -> None:
        name = key.lower()
        if name in _TIME_TRAVEL:
            self._versions[_TIME_TRAVEL[name]] = value
        elif name in _CHANGES:
            self._bounds[_CHANGES[name]] = value
        elif name in _INCLUSIVE:
            self._bounds[_INCLUSIVE[name]] = _flag(key, value)
        elif name == _DEDUPLICATION:
            self._bounds["net"] = str(value).lower() == _NET
        elif name == _CHANGE_FEED:
            self._is_feed = str(value).lower() == "true"

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Read a table.

        The options ``versionAsOf`` and ``timestampAsOf`` select a version or time.
        ``readChangeFeed`` returns the changes of the table instead (see ``changes``). Other options
        have no effect, as with Spark's tables.

        Raises:
            AcidAnalysisError: see ``acidsql.table`` and ``acidsql.changes``.
        """
        spark = self._spark
        if self._is_feed:
            return self.changes(tableName)
        rows = None
        if is_routed(spark) and not self._has_schema:
            rows = _rows(spark, tableName, **self._versions)
        return super().table(tableName) if rows is None else rows

    def changes(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Read the changes of a table.

        The options ``startingVersion`` or ``startingTimestamp``, and ``endingVersion`` or
        ``endingTimestamp``, set the bounds. If ``startingBoundInclusive`` or
        ``endingBoundInclusive`` is false, the changes of that bound are excluded.
        ``deduplicationMode`` ``netChanges`` returns net changes.

        Raises:
            AcidAnalysisError: see ``acidsql.changes``.
        """
        spark = self._spark
        if is_routed(spark):
            with api.working(spark) as session:
                is_ours = named(session, tableName) is not None
            if is_ours:
                return change_feed.changes(spark, tableName, **self._bounds)
        rows: DataFrame = super().changes(tableName)
        return rows


def _flag(key: str, value: object) -> bool:
    """Return whether an option is true.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.CHANGES.
    """
    text = str(value).lower()
    if text not in ("true", "false"):
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE.CHANGES", f"{key} is {value!r}: give true or false"
        )
    return text == "true"
