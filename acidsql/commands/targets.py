"""Tables that statements write, and the checks before a statement writes."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql import bridge
from acidsql.commands.multi_insert import check_targets
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.insert_only.write import refuse_row_changes
from acidsql.metastore.model import Table, TableType
from acidsql.planning.name_resolution import acid_table, find, is_of_delta, names_temp_view
from acidsql.session.acid_session import AcidSession
from acidsql.syntax import parse
from acidsql.syntax.nodes import Name
from acidsql.syntax.statements import Delete, Insert, Merge, MultiInsert, Update

_ROW_CHANGES: Mapping[type, str] = {Update: "UPDATE", Delete: "DELETE", Merge: "MERGE"}
# The words that Spark's errors use.
_WORDS: Mapping[type, str] = {
    Delete: "DELETE",
    Insert: "INSERT",
    Merge: "MERGE INTO TABLE",
    Update: "UPDATE TABLE",
}


def written_table(session: AcidSession, name: Name) -> Table | None:
    """Return the transactional table that a statement writes, or None if the table is Spark's.

    Raises:
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW.
    """
    table = find(session, name)
    if table is not None and table.table_type is TableType.VIEW:
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW", f"{'.'.join(name)} is a view: name the table to write to"
        )
    return table


def maintained_table(session: AcidSession, name: Name) -> Table | None:
    """Return the table of a statement that Spark does not have, such as OPTIMIZE.

    Returns:
        None if the table is Delta Lake's, which also has the statement.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW, NOT_A_TRANSACTIONAL_TABLE.
    """
    return None if is_of_delta(session, name) else acid_table(session, name)


def refuse_temp_view(session: AcidSession, name: Name, words: str) -> None:
    """Refuse a temporary view whose rows a statement would change.

    Delta Lake can change the rows of its tables through a view. If its extension is configured,
    nothing is refused.

    Args:
        session: the session.
        name: name of the statement's target.
        words: words of the statement, for the error.

    Raises:
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW.
    """
    extensions = str(session.spark.conf.get("spark.sql.extensions", ""))
    if "io.delta" not in extensions and names_temp_view(session, name):
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW",
            f"{words} cannot change {'.'.join(name)}, a temporary view: name the table to write "
            "to, with its database if it has the name of the view",
            {"viewName": quoted_name(name), "operation": words},
        )


def target_of(session: AcidSession, statement: Insert | Update | Delete | Merge) -> Table | None:
    """Return the transactional table whose rows a statement changes, or None if it is Spark's.

    Raises:
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW, UNSUPPORTED_FEATURE.
    """
    table = written_table(session, statement.name)
    if table is None:
        view = names_temp_view(session, statement.name)
        if not isinstance(statement, Insert) or (
            view and bridge.is_temp_view_of_query(session.spark, statement.name)
        ):
            refuse_temp_view(session, statement.name, _WORDS[type(statement)])
        return None
    if isinstance(statement, Insert):
        for clause in statement.unsupported:
            raise unsupported(table, f"INSERT … {clause}", "leave the clause out")
        return table
    refuse_row_changes(table, _ROW_CHANGES[type(statement)])
    return table


def branches_of(session: AcidSession, statement: MultiInsert) -> list[tuple[Table, Insert]] | None:
    """Return the INSERTs of ``FROM … INSERT …`` with their tables; None if Spark must run them.

    Raises:
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW, UNSUPPORTED_FEATURE.MULTI_INSERT_MIXED.
    """
    tables = {".".join(b.name): written_table(session, b.name) for b in statement.branches}
    if not any(tables.values()):
        return None
    check_targets(tables, directories=statement.directories)
    branches = []
    for branch in statement.branches:
        table = tables[".".join(branch.name)]
        insert_one = parse(statement.insert(branch))
        if table is None or not isinstance(insert_one, Insert):
            return None  # Spark raises the error
        branches.append((table, insert_one))
    return branches


def unsupported(table: Table, feature: str, instead: str) -> AcidAnalysisError:
    """Build the error for a feature that transactional tables do not have."""
    condition = "UNSUPPORTED_FEATURE." + "_".join(w for w in feature.split() if w.isalpha())
    return AcidAnalysisError(
        condition,
        f"{feature} is not supported on the transactional table {table.full_name}: {instead}",
    )
