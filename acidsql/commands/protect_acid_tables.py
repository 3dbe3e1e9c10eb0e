"""Refusal of Spark's statements that would damage an ACID table, its entry or its files."""

from __future__ import annotations

from acidsql import bridge
from acidsql.errors import AcidAnalysisError, page
from acidsql.format.names import parse_directory
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import find, in_metastore
from acidsql.session.acid_session import AcidSession


def refuse_damage(session: AcidSession, plan: bridge.LogicalPlan) -> None:
    """Refuse a statement that Spark itself would run on a table or view of the metastore.

    Spark's catalog can also contain a transactional table of a Hive Metastore. Spark would alter,
    empty or drop this table without regard to its transactions.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE with the name of Spark's command, LOCATION_IN_USE.
    """
    for command in bridge.commands(plan):
        for name in command.tables:
            if find(session, name) or in_metastore(session, name):
                raise AcidAnalysisError(
                    f"UNSUPPORTED_FEATURE.{command.name}",
                    f"this statement ({command.name.replace('_', ' ')}) is not supported on "
                    f"{'.'.join(name)}, which is transactional or a view of such tables: "
                    f"{page('limits')} says what to do instead",
                )
        for path in command.paths:
            refuse_location(session, path)


def refuse_location(session: AcidSession, path: str) -> None:
    """Refuse a path that overlaps an ACID table's directory, or contains base or delta directories.

    The second check protects partitions outside of their table's directory.

    Raises:
        AcidAnalysisError: LOCATION_IN_USE.
    """
    location = session.files.qualify(path).rstrip("/")
    table = owner_of(session, location)
    if table is not None:
        raise AcidAnalysisError(
            "LOCATION_IN_USE",
            f"{path} belongs to the transactional table {table.full_name}, which lies in "
            f"{table.location}: choose another directory",
        )
    for place in (location, location.rpartition("/")[0]):
        directory = next(filter(parse_directory, session.files.names(place)), None)
        if directory is not None:
            raise AcidAnalysisError(
                "LOCATION_IN_USE",
                f"{place} holds {directory}, as a transactional table or partition does: choose "
                "another directory",
            )


def owner_of(session: AcidSession, location: str) -> Table | None:
    """Return an ACID table whose directory equals, contains or is inside a location, or None."""
    return session.metastore.table_at(location, session.spark.catalog.currentDatabase())
