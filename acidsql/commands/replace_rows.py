"""INSERT … REPLACE WHERE, REPLACE ON and REPLACE USING: a delete and an insert as one write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.commands import events, merge, result, row_level, write_schema
from acidsql.commands.insert import prepared_insert, query
from acidsql.commands.write_schema import WriteSchema
from acidsql.errors import AcidAnalysisError, AcidParseError
from acidsql.format.identifiers import folded
from acidsql.insert_only.write import refuse_row_changes
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Operation, Table
from acidsql.planning.name_resolution import CATALOG
from acidsql.planning.prepared import Prepared
from acidsql.planning.statement import StatementSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.finalize import DuplicateKeys
from acidsql.syntax import parse
from acidsql.syntax.lexer import quote
from acidsql.syntax.places import place_of
from acidsql.syntax.replacing import query_starts, without_alias
from acidsql.syntax.statements import Insert
from acidsql.transactions.write_intent import change_intent
from acidsql.transactions.write_transaction import write_transaction

# Message with which a task fails if a new row does not meet the condition.
_MISMATCH = "REPLACE_WHERE_MISMATCH"
_UNALIASED = "_new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """New rows of a table, and the rows that they replace.

    Attributes:
        insert: INSERT INTO of the new rows.
        change: text of a DELETE of the replaced rows, or of a MERGE with the new rows that deletes
            the rows that they match.
        by_merge: whether ``change`` is a MERGE.
        checked: whether the new rows must meet the condition of the DELETE.
        recorded: the statement, for the history of the table.
    """

    insert: Insert
    change: str
    by_merge: bool
    checked: bool
    recorded: RecordedStatement

    def prepared(
        self, session: AcidSession, table: Table, snapshot: StatementSnapshot | None = None
    ) -> Prepared:
        """Analyse the change; see ``prepare``."""
        analysis = bridge.analyze_merge if self.by_merge else bridge.analyze_delete
        return row_level.prepared_change(session, table, self.change, analysis, snapshot)


def replace_rows(session: AcidSession, table: Table, statement: Insert) -> DataFrame:
    """Run an INSERT with REPLACE WHERE, REPLACE ON or REPLACE USING.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE; REPLACE_WHERE_MISMATCH, a new row
            does not meet the condition of REPLACE WHERE.
    """
    return run(session, table, replacement_of(session, table, statement))


def replacement_of(session: AcidSession, table: Table, statement: Insert) -> Replacement:
    """Return the insert and the delete of an INSERT with REPLACE.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE,
            UNSUPPORTED_FEATURE.INSERT_WITH_SCHEMA_EVOLUTION.
        AcidParseError: the text does not consist of a condition and a query.
        ParseException: Spark cannot parse the query of the new rows.
    """
    if statement.schema_evolution is not None:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.INSERT_WITH_SCHEMA_EVOLUTION",
            "INSERT WITH SCHEMA EVOLUTION … REPLACE is not supported: ALTER TABLE … ADD COLUMNS "
            "first, and leave the clause out",
        )
    name = quoted_table(table)
    before = "" if statement.with_clause is None else statement.with_clause.of(statement.text)
    rest = statement.query.of(statement.text)
    if statement.replace_using is not None:
        clause, condition, new = "REPLACE USING", "", rest
    else:
        clause = "REPLACE WHERE" if statement.replace_where else "REPLACE ON"
        condition, new = _split(session, statement, clause)
    refuse_row_changes(table, f"INSERT … {clause}")
    source = None
    if not statement.replace_where:
        new, source = without_alias(new)
    target_alias = "" if statement.alias is None else f" AS {quote(statement.alias)}"
    if statement.replace_where:
        change = f"DELETE FROM {name}{target_alias} WHERE {condition}"
    else:
        if statement.replace_using is not None:
            source = source or _UNALIASED
            condition = _equal(statement.alias or table.name, source, statement.replace_using)
        source_alias = "" if source is None else f" AS {quote(source)}"
        change = (
            f"MERGE INTO {name}{target_alias} USING ({before} {new}\n){source_alias} "
            f"ON {condition}\nWHEN MATCHED THEN DELETE"
        )
    columns = ""
    if statement.columns is not None:
        columns = f"({', '.join(map(quote, statement.columns))}) "
    matched = "BY NAME " if statement.by_name else columns
    insert = parse(f"INSERT INTO TABLE {name} {matched}{before} {new}")
    assert isinstance(insert, Insert)
    return Replacement(
        insert=insert,
        change=change,
        by_merge=not statement.replace_where,
        checked=statement.replace_where,
        recorded=RecordedStatement(operation=clause, text=statement.text),
    )


def _split(session: AcidSession, statement: Insert, clause: str) -> tuple[str, str]:
    """Return the condition of an INSERT with REPLACE, and its query.

    The condition is the shortest prefix that Spark parses as an expression, if Spark also parses
    the rest as a query.
    """
    text = statement.query.of(statement.text)
    for start in query_starts(text):
        condition, new = text[:start], text[start:]
        bare = without_alias(new)[0] if statement.replace_on else new
        try:
            bridge.check_expression(session.spark, condition)
            bridge.parse(session.spark, bare)
        except ParseException:
            continue
        return condition, new
    message = (
        f"{clause} needs a condition and then a query, which begins with SELECT, VALUES, TABLE, "
        "FROM, WITH or a parenthesis"
    )
    raise AcidParseError(message, **place_of(statement.text, statement.query.start, ""))


def _equal(target: str, source: str, columns: tuple[str, ...]) -> str:
    """Return the condition that columns are equal in the target and the source."""
    pairs = (f"{quote(target)}.{quote(c)} = {quote(source)}.{quote(c)}" for c in columns)
    return " AND ".join(pairs)


def run(session: AcidSession, table: Table, replacement: Replacement) -> DataFrame:
    """Delete and insert in one transaction; return one row of counts."""
    old = replacement.prepared(session, table)
    new = prepared_insert(session, table, replacement.insert)
    _check(write_schema.write_schema_of(session, table), replacement, old, new)
    intent = change_intent(table, Operation.UPDATE, replacement.recorded)
    with ExitStack() as opened:
        transaction = opened.enter_context(write_transaction(session, intent))
        shape = write_schema.write_schema_of(session, transaction.table, transaction)
        seen = events.snapshot_of(transaction)
        with _naming_mismatch(shape.table):
            staged = planned(shape, seen, replacement, old, new)
            outcome = events.write(
                transaction,
                shape,
                staged,
                inserting=[0],
                seen=seen,
                duplicate_keys=DuplicateKeys.AS_ONE,
            )
        gone, inserted = outcome.events(deletes=True), outcome.events(deletes=False)
        changed = [
            outcome.changed(Operation.DELETE, deletes=True),
            outcome.changed(Operation.INSERT, deletes=False),
        ]
        transaction.commit(changed, WriteCounts(inserted=inserted, deleted=gone))
    return result.counts(session.spark, affected=gone + inserted, deleted=gone, inserted=inserted)


def _check(shape: WriteSchema, replacement: Replacement, old: Prepared, new: Prepared) -> None:
    """Refuse unsupported replacements before the statement writes anything.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.REPLACE_WHERE; INVALID_NON_DETERMINISTIC_EXPRESSIONS,
            the new rows are computed twice, and the inserted rows could differ from the rows that
            determined the deleted ones.
    """
    names = {folded(name) for name in [*shape.data.names, *shape.partitions.names]}
    spark = shape.session.spark
    if replacement.checked and not bridge.deletes_by_columns(spark, old.plan, names):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.REPLACE_WHERE",
            f"the condition of REPLACE WHERE on {shape.table.full_name} must hold for the new rows "
            "too, so it can have columns of theirs and no subqueries: use REPLACE ON, or DELETE "
            "and INSERT INTO in a transaction",
        )
    if replacement.by_merge and not bridge.has_same_values(new.plan):
        raise AcidAnalysisError(
            "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
            "the query of REPLACE ON and REPLACE USING has a value that is not deterministic, and "
            "is computed twice: store its rows in a table first",
        )


def planned(
    shape: WriteSchema,
    seen: StatementSnapshot,
    replacement: Replacement,
    old: Prepared | None = None,
    new: Prepared | None = None,
) -> DataFrame:
    """Plan the events that delete the replaced rows and insert the new ones.

    Args:
        shape: write schema of the table.
        seen: snapshot that the statement reads.
        replacement: the new rows, and the rows that they replace.
        old: the analysed change; None to analyse it here.
        new: the analysed INSERT; None to analyse it here.
    """
    session, table = shape.session, shape.table
    if old is None or not old.is_current(session, table):
        old = replacement.prepared(session, table, seen)
    if new is None:
        new = prepared_insert(session, table, replacement.insert, seen)
    if replacement.by_merge:
        deleted = merge.planned_merge(shape, seen, old)
    else:
        deleted = row_level.planned(row_level.delete_events, shape, seen, old)
    rows = query(shape, seen, replacement.insert, new)
    if replacement.checked:
        rows = seen.at_once(_meeting(shape, rows, old))
    return deleted.unionByName(events.insert_events(shape, rows))


def _meeting(shape: WriteSchema, rows: DataFrame, deletion: Prepared) -> DataFrame:
    """Return the new rows; reading fails at a row that does not meet the DELETE's condition."""
    fails = F.raise_error(F.lit(_MISMATCH)).cast("boolean")
    named = bridge.renamed(rows, [*shape.data.names, *shape.partitions.names])
    holds = bridge.delete_condition(deletion.plan, named)
    return named.where(F.when(holds, F.lit(True)).otherwise(fails))


@contextmanager
def _naming_mismatch(table: Table) -> Iterator[None]:
    """Convert the failure of a task at a new row into an error that names the table.

    Raises:
        AcidAnalysisError: REPLACE_WHERE_MISMATCH, a new row does not meet the condition.
    """
    try:
        yield
    except PySparkException as error:
        if _MISMATCH not in str(error):
            raise
        raise AcidAnalysisError(
            "REPLACE_WHERE_MISMATCH",
            f"a new row for {table.full_name} does not meet the condition of REPLACE WHERE: leave "
            "it out of the query, or widen the condition; nothing was written",
        ) from error


def quoted_table(table: Table) -> str:
    """Return the fully qualified name of a table, as SQL."""
    return f"{CATALOG}.{quote(table.database)}.{quote(table.name)}"
