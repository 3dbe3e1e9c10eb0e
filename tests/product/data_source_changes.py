"""Changes of a table by ``format("acidsql")`` in this process, beside ``table_changes``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from acidsql.datasource import AcidDataSource

if TYPE_CHECKING:
    from tests.product.conftest import Lab


def options_of(lab: Lab, table: str, **options: str) -> dict[str, str]:
    """Return the options of a reader of changes."""
    return {
        "path": f"{lab.spark.catalog.currentDatabase()}.{table}",
        "metastore": str(lab.session.settings.metastore),
        "timeZone": lab.session.time_zone,
        "readChangeFeed": "true",
        **options,
    }


def rows_of(reader: Any, parts: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of the parts of a reader."""
    batches = [batch for part in parts for batch in reader.read(part)]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def told_by_source(lab: Lab, table: str, **options: str) -> list[tuple[Any, ...]]:
    """Return what the data source reads, times as microseconds, sorted by text."""
    source: Any = AcidDataSource(options_of(lab, table, **options))
    schema = lab.spark.createDataFrame([], source.schema()).schema
    reader = source.reader(schema)
    found = rows_of(reader, reader.partitions())
    return sorted((tuple(map(_plain, row)) for row in found), key=repr)


def told_by_spark(lab: Lab, table: str, arguments: str) -> list[tuple[Any, ...]]:
    """Return what ``table_changes`` returns, times as microseconds, sorted by text."""
    text = f"SELECT * FROM table_changes('{table}', {arguments})"
    frame = lab.frame(text)
    columns = [
        f"unix_micros(`{f.name}`)" if f.dataType.simpleString() == "timestamp" else f"`{f.name}`"
        for f in frame.schema
    ]
    return sorted(map(tuple, frame.selectExpr(*columns).collect()), key=repr)


def _plain(value: Any) -> Any:
    if hasattr(value, "tzinfo"):
        return int(value.timestamp() * 1_000_000 + 0.5)
    return value
