"""ANALYZE TABLE: stores rows, sizes and column statistics of a snapshot in the metastore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from acidsql import bridge
from acidsql.commands import column_measures, result
from acidsql.commands.events import snapshot_of
from acidsql.commands.partition_normalization import typed
from acidsql.commands.partitions import named_partitions
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.names import is_hidden
from acidsql.metastore.catalog_changes import RecordStatistics
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import LockType, Operation, Table, TableType
from acidsql.metastore.table_statistics import Statistics
from acidsql.planning.name_resolution import find, qualified
from acidsql.planning.statement import StatementSnapshot
from acidsql.scan.plan import count_rows_from_tails
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot, with_nested_originals
from acidsql.schema.columns import data_schema, partition_schema
from acidsql.schema.default_sizes import default_size
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.session.settings import name_key
from acidsql.storage.filesystem import child
from acidsql.syntax import maintenance_statements as ast
from acidsql.syntax.lexer import quote
from acidsql.syntax.nodes import Span
from acidsql.transactions.write_intent import WriteIntent
from acidsql.transactions.write_transaction import TableWrite, write_transaction

_Values = tuple[str, ...]
# Column with the partition of a group of rows; NULL for the group of all rows.
_PARTITION = "__partition"


def analyze_table(session: AcidSession, statement: ast.AnalyzeTable) -> DataFrame | None:
    """Run ANALYZE TABLE; None if the table is Spark's."""
    table = find(session, statement.name)
    if table is None:
        return None
    if table.table_type is TableType.VIEW:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.ANALYZE_VIEW",
            f"{table.full_name} is a view, which has no statistics: analyse the tables that it "
            "reads",
        )
    columns = _columns(session, table, statement)
    _analyze(session, table, statement, columns)
    return result.nothing(session.spark)


def analyze_tables(session: AcidSession, statement: ast.AnalyzeTables) -> DataFrame | None:
    """Run ANALYZE TABLES: analyse all tables of a database, including Spark's."""
    parts = statement.database or (session.spark.catalog.currentDatabase(),)
    name = qualified(session, (*parts, "t"))
    if name is None or not session.has_database(name[0]):
        return None
    mirror_database(session, name[0])
    session.spark.sql(statement.text)
    for table_name in session.metastore.tables(name[0]):
        table = session.metastore.find_table(name[0], table_name)
        if table is not None and table.table_type is TableType.MANAGED:
            every = ast.AnalyzeTable(
                text=statement.text,
                name=(table.database, table.name),
                name_span=Span(start=0, end=0),
                noscan=statement.noscan,
            )
            _analyze(session, table, every, ())
    return result.nothing(session.spark)


def _columns(
    session: AcidSession, table: Table, statement: ast.AnalyzeTable
) -> tuple[StructField, ...]:
    """Return the columns to analyse; FOR ALL COLUMNS leaves out columns of nested types."""
    fields = data_schema(session.spark, table).fields
    if statement.all_columns:
        return tuple(f for f in fields if not _is_nested(f))
    key = name_key(session.spark)
    known = {key(f.name): f for f in fields}
    partitions = {key(c.name) for c in table.partition_columns}
    chosen = []
    for name in statement.analyzed_columns:
        if key(name) in partitions:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.ANALYZE_PARTITION_COLUMN",
                f"{name} is a partition column of {table.full_name}, whose values the metastore "
                "knows: leave it out",
            )
        if key(name) not in known:
            raise AcidAnalysisError(
                "COLUMN_NOT_FOUND",
                f"{table.full_name} has no column {name}: see DESCRIBE {table.full_name}",
                {"colName": quoted_name([name])},
            )
        field = known[key(name)]
        if _is_nested(field):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.ANALYZE_UNSUPPORTED_COLUMN_TYPE",
                f"column {name} of {table.full_name} has type {field.dataType.simpleString()}, of "
                "which no statistics are kept: leave it out",
            )
        chosen.append(field)
    return tuple(dict.fromkeys(chosen))


def _is_nested(field: StructField) -> bool:
    return isinstance(field.dataType, ArrayType | MapType | StructType)


def _analyze(
    session: AcidSession,
    table: Table,
    statement: ast.AnalyzeTable,
    columns: tuple[StructField, ...],
) -> None:
    """Compute statistics in one snapshot, and store them in the metastore."""
    named = named_partitions(session, table, statement.partition)
    chosen = None if named is None else frozenset(p.values for p in named)
    # With this lock, ANALYZE and writers do not wait for each other.
    intent = WriteIntent(
        table=table,
        operation=Operation.SELECT,
        lock=LockType.SHARED_READ,
        statement=RecordedStatement(operation="ANALYZE TABLE", text=statement.text),
    )
    with write_transaction(session, intent) as transaction:
        computed = _computed(transaction, chosen, columns, noscan=statement.noscan)
        transaction.changes.append(RecordStatistics(table=transaction.table, computed=computed))
        transaction.commit([])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """Rows of a snapshot that are measured."""

    session: AcidSession
    snapshot: StatementSnapshot
    table: Table
    columns: tuple[StructField, ...]

    def measured(self, partitions: frozenset[_Values] | None, *by: str) -> list[Row]:
        """Measure the rows of partitions.

        Args:
            partitions: the partitions, None for all.
            *by: columns that group the rows. With columns, each group and all rows are measured.
                Without columns, only all rows are.
        """
        rows = bridge.frame_of(self.session.spark, self.snapshot.relation(self.table, partitions))
        measures = [F.expr(text).alias(n) for n, text in column_measures.texts(self.columns)]
        if not by:
            return list(rows.agg(*measures).collect())
        grouped = rows.select("*", F.struct(*by).alias(_PARTITION)).rollup(_PARTITION)
        return list(grouped.agg(*measures).collect())


def _computed(
    transaction: TableWrite,
    chosen: frozenset[_Values] | None,
    columns: tuple[StructField, ...],
    *,
    noscan: bool,
) -> tuple[Statistics, ...]:
    """Compute the statistics of the chosen partitions, or of all partitions and the whole table."""
    session, table = transaction.session, transaction.table
    snapshot = snapshot_of(transaction)
    taken = snapshot.snapshot(table, chosen)
    sizes = [_measured_files(session, taken, place) for place in taken.partitions]
    places: list[_Values | None] = [p.values for p in taken.partitions]
    if not table.partition_columns:
        places = [None]
    statistics = [
        Statistics(partition=place, size=sum(of_place), files=len(of_place))
        for place, of_place in zip(places, sizes, strict=True)
    ]
    if table.partition_columns and chosen is None:
        every = [size for of_place in sizes for size in of_place]
        statistics.append(Statistics(partition=None, size=sum(every), files=len(every)))
    if not noscan:
        scan = _Scan(session=session, snapshot=snapshot, table=table, columns=columns)
        measured = _rows(scan, taken, chosen)
        statistics = [_with_rows(table, session, s, columns, measured) for s in statistics]
    seen = taken.write_ids.to_string()
    return tuple(replace(s, write_id=transaction.write_id, write_ids=seen) for s in statistics)


def _rows(
    scan: _Scan, taken: TableSnapshot, chosen: frozenset[_Values] | None
) -> Mapping[_Values | None, Mapping[str, Any]]:
    """Measure the rows of each partition, and of the whole table (None).

    Partitions in different spellings, such as ``p=1`` and ``p=01``, have the same typed values, so
    each of these partitions is scanned separately.
    """
    table = scan.table
    if not table.partition_columns:
        counted = None
        if not scan.columns and not table.insert_only:
            counted = count_rows_from_tails(scan.session, taken)
        if counted is not None:
            return {None: {column_measures.ROWS: counted}}
        return {None: scan.measured(None)[0].asDict()}
    names = [quote(f.name) for f in partition_schema(scan.session.spark, table).fields]
    groups = {
        None if row[_PARTITION] is None else tuple(row[_PARTITION]): row.asDict()
        for row in scan.measured(chosen, *names)
    }
    places = [p.values for p in taken.partitions]
    typed_rows = typed(scan.session, table, places).collect() if places else []
    values = {places[row[0]]: tuple(row[1:]) for row in typed_rows}
    counts = Counter(values.values())
    measured: dict[_Values | None, Mapping[str, Any]] = {}
    if None in groups:
        measured[None] = groups[None]
    for place, typed_values in values.items():
        if counts[typed_values] > 1:
            measured[place] = scan.measured(frozenset({place}))[0].asDict()
        elif typed_values in groups:
            measured[place] = groups[typed_values]
    return measured


def _with_rows(
    table: Table,
    session: AcidSession,
    statistics: Statistics,
    columns: Sequence[StructField],
    measured: Mapping[_Values | None, Mapping[str, Any]],
) -> Statistics:
    """Add the measures of rows to statistics; a partition without measures has no rows."""
    of_partition = measured.get(statistics.partition, {column_measures.ROWS: 0})
    rows = int(of_partition[column_measures.ROWS])
    analysed = column_measures.statistics_of(columns, of_partition)
    width = sum(default_size(f.dataType) for f in data_schema(session.spark, table).fields)
    return replace(statistics, rows=rows, raw_size=rows * width, columns=analysed)


def _measured_files(
    session: AcidSession, taken: TableSnapshot, place: PartitionSnapshot
) -> list[int]:
    """Return the sizes of the files that a snapshot reads in a partition."""
    paths = [child(place.location, name) for name in place.state.originals]
    for directory in place.state.directories:
        root = place.path(directory)
        names = list(taken.listings.get(root).files)
        if taken.table.insert_only:
            names = list(with_nested_originals(session.files, taken.listings, root))
        paths += [child(root, n) for n in names if not any(map(is_hidden, n.split("/")))]
    sizes = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        version = taken.listings.get(folder).files.get(name)
        sizes += [] if version is None else [version.size]
    return sizes
