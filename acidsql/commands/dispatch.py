"""Dispatch of a statement to its command, or to Spark if no command handles it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import (
    alter_table,
    analyze,
    cache_table,
    check_table,
    clone,
    compact,
    convert_to_acid,
    create,
    databases_and_views,
    describe,
    describe_detail,
    describe_health,
    describe_history,
    drop_table,
    explain,
    export_table,
    import_table,
    insert,
    load,
    merge,
    multi_insert,
    repair,
    replace_rows,
    replace_table,
    restore,
    result,
    row_level,
    show,
    show_transactions,
    tags,
    transactions,
    truncate,
)
from acidsql.commands.inner_statements import execute_immediate, refuse_inner
from acidsql.commands.protect_acid_tables import refuse_damage, refuse_location
from acidsql.commands.reads import check_reads, check_reads_of_spark
from acidsql.commands.targets import (
    branches_of,
    maintained_table,
    refuse_temp_view,
    target_of,
    written_table,
)
from acidsql.commands.temporary_tables import or_temporary
from acidsql.injection_points import Point, reach
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import (
    acid_table,
    already_exists,
    find_acid_table,
    in_metastore,
    is_of_delta,
    qualified,
)
from acidsql.planning.parsed_statement import parse_and_resolve
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.planning.unchanged_reads import check_query_at_commit
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.session.metrics import Phase, current, phase
from acidsql.session.parsing import parse_in_session
from acidsql.syntax import (
    alter_statements,
    copy_statements,
    maintenance_statements,
    parse,
    show_statements,
)
from acidsql.syntax import statements as ast

_MAY_REPLACE = re.compile(r"\bREPLACE\s+TABLE\b", re.IGNORECASE)


def run(
    session: AcidSession, text: str, on_spark: Callable[[], DataFrame] | None = None
) -> DataFrame:
    """Run one statement.

    Args:
        session: the session.
        text: text of the statement.
        on_spark: runs the statement if it uses no ACID tables; by default Spark runs it.
    """
    with phase(Phase.PARSE):
        statement = parse_in_session(session.spark, text) or _replacement(session, text)
    current().operation = _operation(statement)
    transactions.check_statement(session, statement)
    check_reads(session, statement)
    command = _COMMANDS.get(type(statement))
    answer = command(session, statement) if command else None
    return run_on_spark(session, text, on_spark) if answer is None else answer


def _replacement(session: AcidSession, text: str) -> ast.CreateTable | None:
    """Parse CREATE OR REPLACE TABLE or REPLACE TABLE without a format, if its table is ACID.

    The new table is then ACID too.

    Returns:
        None for any other statement.
    """
    if not _MAY_REPLACE.search(text):
        return None
    statement = parse(text, acid_by_default=True)
    if not isinstance(statement, ast.CreateTable) or not statement.replaces:
        return None
    name = qualified(session, statement.name)
    is_ours = name is not None and session.metastore.find_table(*name) is not None
    return statement if is_ours else None


def _operation(statement: ast.Statement | None) -> str:
    """Return the leading keywords of a statement, for its metrics and the names of its jobs."""
    if statement is None:
        return "QUERY"
    if isinstance(statement, ast.Insert):
        return "INSERT OVERWRITE" if statement.overwrite else "INSERT"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(statement).__name__).upper()


def run_on_spark(
    session: AcidSession, text: str, on_spark: Callable[[], DataFrame] | None = None
) -> DataFrame:
    """Run a statement in Spark; replace its ACID tables with scans of one snapshot."""
    with phase(Phase.PLAN):
        parsed = parse_and_resolve(session, text)
    refuse_damage(session, parsed.plan)
    refuse_inner(session, parsed.plan)
    executed = execute_immediate(session, parsed.plan, lambda inner: run(session, inner))
    if executed is not None:
        return executed
    transactions.check_of_spark(session, parsed.plan)
    check_reads_of_spark(session, parsed.plan)
    created = bridge.created_table(parsed.plan)
    if created is not None and in_metastore(session, created[0]):
        if not created[1]:
            raise already_exists(created[0])
        return result.nothing(session.spark)
    if not parsed.tables:
        return _unchanged_on_spark(session, on_spark or (lambda: session.spark.sql(text)))
    reach(Point.BEFORE_READING, session)
    with leased_snapshot(session) as snapshot:
        check_query_at_commit(session, snapshot)
        return snapshot.run(parsed)


def _unchanged_on_spark(session: AcidSession, run_it: Callable[[], DataFrame]) -> DataFrame:
    """Run a statement in Spark without changes.

    If Spark does not find a database that the metastore has, add the database to Spark's catalog
    and run the statement again.
    """
    try:
        return run_it()
    except AnalysisException as error:
        name = _missing_schema(error)
        is_shared = session.metastore.capabilities.has_other_clients
        if name is None or not is_shared or not session.has_database(name):
            raise
    mirror_database(session, name)
    return run_it()


def _missing_schema(error: AnalysisException) -> str | None:
    """Return the database that Spark did not find, or None for any other error."""
    # PySpark 3.5 returns a Java map, whose get has no default.
    schema = (error.getMessageParameters() or {}).get("schemaName") or ""
    parts = re.findall(r"`([^`]+)`", schema)
    return parts[-1] if parts and "SCHEMA_NOT_FOUND" in str(error) else None


def _update(session: AcidSession, statement: ast.Update) -> DataFrame | None:
    table = target_of(session, statement)
    return row_level.update(session, table, statement.text) if table else None


def _delete(session: AcidSession, statement: ast.Delete) -> DataFrame | None:
    table = target_of(session, statement)
    return row_level.delete(session, table, statement.text) if table else None


def _merge(session: AcidSession, statement: ast.Merge) -> DataFrame | None:
    table = target_of(session, statement)
    return merge.merge(session, table, statement) if table else None


def _restore(session: AcidSession, statement: maintenance_statements.Restore) -> DataFrame | None:
    table = maintained_table(session, statement.name)
    return restore.restore(session, table, statement) if table else None


def _undo_write(session: AcidSession, statement: maintenance_statements.UndoWrite) -> DataFrame:
    written_table(session, statement.name)  # refuses a view
    return restore.undo_write(session, acid_table(session, statement.name), statement)


def _insert(session: AcidSession, statement: ast.Insert) -> DataFrame | None:
    table = target_of(session, statement)
    if table is None:
        return None
    run_it = replace_rows.replace_rows if statement.replaces else insert.insert
    return run_it(session, table, statement)


def _truncate(session: AcidSession, statement: ast.Truncate) -> DataFrame | None:
    table = written_table(session, statement.name)
    if table is None:
        refuse_temp_view(session, statement.name, "TRUNCATE TABLE")
        return None
    return truncate.truncate(session, table, statement)


def _alter_table(session: AcidSession, statement: alter_statements.Alteration) -> DataFrame | None:
    table = written_table(session, statement.name)
    if table is None:
        if isinstance(statement, alter_statements.SetProperties):
            return convert_to_acid.convert(session, statement)
        return None
    return alter_table.alter_table(session, table, statement)


def _comment_on_column(
    session: AcidSession, statement: alter_statements.CommentOnColumn
) -> DataFrame | None:
    *parts, column = statement.name
    table = written_table(session, tuple(parts)) if parts else None
    if table is None:
        return None
    change = alter_statements.ChangeColumn(
        text=statement.text,
        name=tuple(parts),
        name_span=statement.name_span,
        column_name=(column,),
        comment=statement.comment or "",
    )
    return alter_table.alter_table(session, table, change)


def _repair(session: AcidSession, statement: maintenance_statements.MsckRepair) -> DataFrame | None:
    table = written_table(session, statement.name)
    return repair.repair(session, table, statement) if table else None


def _load(session: AcidSession, statement: ast.LoadData) -> DataFrame | None:
    table = written_table(session, statement.name)
    if table is None:
        refuse_location(session, statement.inpath)
        return None
    return load.load(session, table, statement)


def _multi_insert(session: AcidSession, statement: ast.MultiInsert) -> DataFrame | None:
    branches = branches_of(session, statement)
    return multi_insert.multi_insert(session, branches) if branches is not None else None


def _optimize(session: AcidSession, statement: maintenance_statements.Optimize) -> DataFrame | None:
    table = maintained_table(session, statement.name)
    return compact.optimize(session, table, statement) if table else None


def _vacuum(session: AcidSession, statement: maintenance_statements.Vacuum) -> DataFrame | None:
    table = maintained_table(session, statement.name)
    return compact.vacuum(session, table, statement) if table else None


def _compact(session: AcidSession, statement: maintenance_statements.Compact) -> DataFrame | None:
    return compact.compact(session, acid_table(session, statement.name), statement)


def _check(session: AcidSession, statement: maintenance_statements.CheckTable) -> DataFrame:
    return check_table.check_table(session, acid_table(session, statement.name), statement)


def _report(
    word: str, report: Callable[[AcidSession, Table, Any], DataFrame]
) -> Callable[[AcidSession, Any], DataFrame | None]:
    """Return the command for DESCRIBE HISTORY, DETAIL or HEALTH.

    Args:
        word: the keyword after DESCRIBE, in lower case.
        report: runs the statement.
    """

    def command(session: AcidSession, statement: Any) -> DataFrame | None:
        of_column = describe.as_column(session, word, statement)
        if of_column is not None:
            return describe.describe(session, of_column)
        if is_of_delta(session, statement.name):
            return None
        return report(session, acid_table(session, statement.name), statement)

    return command


def _abort(session: AcidSession, statement: maintenance_statements.AbortTransactions) -> DataFrame:
    session.metastore.abort_txns(statement.ids)
    return result.nothing(session.spark)


_COMMANDS: Mapping[type, Callable[[AcidSession, Any], DataFrame | None]] = {
    maintenance_statements.AbortCompactions: compact.abort_compactions,
    maintenance_statements.AbortTransactions: _abort,
    **dict.fromkeys(get_args(alter_statements.Alteration), _alter_table),
    maintenance_statements.AnalyzeTable: analyze.analyze_table,
    maintenance_statements.AnalyzeTables: analyze.analyze_tables,
    ast.CacheTable: cache_table.cache_table,
    maintenance_statements.CheckTable: _check,
    ast.ClearCache: cache_table.clear_cache,
    copy_statements.CloneTable: or_temporary(clone.clone_table),
    ast.Commit: lambda session, _: transactions.commit(session),
    maintenance_statements.Compact: _compact,
    ast.CreateDatabase: databases_and_views.create_database,
    ast.CreateTable: or_temporary(replace_table.create_or_replace),
    ast.CreateTableLike: or_temporary(create.create_like),
    ast.AlterViewAs: databases_and_views.alter_view_as,
    alter_statements.CreateTag: tags.create_tag,
    ast.CreateView: databases_and_views.create_view,
    ast.Delete: _delete,
    show_statements.Describe: describe.describe,
    show_statements.DescribeDetail: _report("detail", describe_detail.describe_detail),
    show_statements.DescribeHealth: _report("health", describe_health.describe_health),
    show_statements.DescribeHistory: _report("history", describe_history.describe_history),
    ast.DropDatabase: databases_and_views.drop_database,
    alter_statements.CommentOnColumn: _comment_on_column,
    alter_statements.SetDatabaseProperties: databases_and_views.alter_database,
    alter_statements.UnsetDatabaseProperties: databases_and_views.alter_database,
    ast.DropTable: drop_table.drop_table,
    alter_statements.DropTag: tags.drop_tag,
    ast.DropView: databases_and_views.drop_view,
    show_statements.Explain: explain.explain,
    copy_statements.ExportTable: export_table.export_table,
    copy_statements.ImportTable: import_table.import_table,
    ast.Insert: _insert,
    ast.LoadData: _load,
    ast.Merge: _merge,
    maintenance_statements.MsckRepair: _repair,
    ast.MultiInsert: _multi_insert,
    maintenance_statements.Optimize: _optimize,
    maintenance_statements.Restore: _restore,
    ast.Rollback: lambda session, _: transactions.rollback(session),
    ast.StartTransaction: transactions.start,
    maintenance_statements.RefreshTable: lambda session, statement: (
        result.nothing(session.spark) if find_acid_table(session, statement.name) else None
    ),
    show_statements.ShowColumns: show.show_columns,
    show_statements.ShowCompactions: show_transactions.show_compactions,
    show_statements.ShowCreateTable: show.show_create_table,
    show_statements.ShowLocks: show_transactions.show_locks,
    show_statements.ShowPartitions: show.show_partitions,
    show_statements.ShowDatabases: show.show_databases,
    show_statements.ShowTables: show.show_tables,
    show_statements.ShowTags: tags.show_tags,
    show_statements.ShowTblProperties: show.show_tbl_properties,
    show_statements.ShowViews: show.show_views,
    show_statements.ShowTransactions: lambda session, _: show_transactions.show_transactions(
        session
    ),
    ast.Truncate: _truncate,
    ast.UncacheTable: cache_table.uncache_table,
    maintenance_statements.UndoWrite: _undo_write,
    maintenance_statements.Vacuum: _vacuum,
    ast.Update: _update,
    ast.Use: databases_and_views.use,
}
