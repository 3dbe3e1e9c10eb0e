"""Table versions that a statement reads through VERSION AS OF, TIMESTAMP AS OF or a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.metastore.model import Table, TableType
from acidsql.metastore.moments import Moment, TableVersion, TagMoment, TimeMoment, moment_of_text
from acidsql.metastore.version_failures import not_a_version
from acidsql.metastore.write_ids_ahead import learn_write_ids
from acidsql.planning.change_request import requested_changes
from acidsql.scan.change_form import keys_then
from acidsql.scan.file_times import version_by_files
from acidsql.scan.versions import HeldVersion, held_version, with_columns_of
from acidsql.session.acid_session import AcidSession
from acidsql.session.as_of_block import moment_of_block
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import quoted_string


def moment_of_version(name: str, text: str) -> Moment:
    """Return the moment that the text after VERSION AS OF names.

    Args:
        name: table name, for the error.
        text: a write id, ``txn 17``, or the name of a tag.

    Raises:
        AcidAnalysisError: VERSION_NOT_FOUND, the text is not a version.
    """
    moment = moment_of_text(text)
    if moment is not None:
        return moment
    if not text.strip():
        raise not_a_version(name, text)
    return TagMoment(name=text)


@dataclass(slots=True)
class StatementVersions:
    """Versions of tables that one statement reads; each is looked up once.

    Attributes:
        session: the session.
        current: the statement's current time.
    """

    session: AcidSession
    current: bridge.CurrentValues
    _times: dict[str, TimeMoment] = field(default_factory=dict)
    _versions: dict[tuple[str, Moment], tuple[Moment, TableVersion]] = field(default_factory=dict)
    _held: dict[tuple[str, Moment], HeldVersion] = field(default_factory=dict)

    def resolve(self, table: Table, reference: bridge.Reference) -> Table:
        """Return the table that a reference names, as of the moment that the statement reads.

        The table has the columns of that moment. A table whose changes are read has the columns
        of the end of the changes.

        Raises:
            AcidAnalysisError: UNSUPPORTED_FEATURE.TIME_TRAVEL, the reference names a view;
                VERSION_NOT_FOUND, the text after VERSION AS OF is not a version.
            AnalysisException: the expression after TIMESTAMP AS OF is not a timestamp.
        """
        names_one = reference.version is not None or reference.timestamp is not None
        if reference.changes is not None:
            return self._at_end(
                requested_changes(self.session, table, reference.changes, self.current)
            )
        is_view = table.table_type is TableType.VIEW
        if is_view and names_one:
            name = table.full_name if table.database else table.name
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.TIME_TRAVEL",
                f"{name} is a view, and has no versions: name versions of the tables in it",
                {"relationId": quoted_name(name.split("."))},
            )
        # The tables in a view are resolved as references themselves.
        moment = None if is_view else self._moment(table, reference)
        return table if moment is None else self.at(table, moment)

    def at(self, table: Table, moment: Moment) -> Table:
        """Return a table as of a moment, with the columns that it had then.

        Raises:
            AcidAnalysisError: see ``Metastore.find_version``.
        """
        _, version = self._version(table, moment)
        return replace(with_columns_of(table, version), as_of=moment)

    def _at_end(self, table: Table) -> Table:
        """Return a table whose changes are read, with the columns of the end of the changes."""
        changes = table.changes
        if changes is None or changes.last is None:
            return table
        _, version = self._version(table, changes.last)
        old = with_columns_of(table, version)
        return replace(old, changes=replace(changes, keys=keys_then(table, old, changes.keys)))

    def _version(self, table: Table, moment: Moment) -> tuple[Moment, TableVersion]:
        """Look up a table's version once; return the moment resolved by files, and the version."""
        key = table.full_name, moment
        if key not in self._versions:
            resolved = version_by_files(self.session, table, moment)
            learn_write_ids(self.session, table, None)
            version = self.session.metastore.find_version(table.database, table.name, resolved)
            self._versions[key] = resolved, version
        return self._versions[key]

    def _moment(self, table: Table, reference: bridge.Reference) -> Moment | None:
        if reference.timestamp is not None:
            text = bridge.expression_text(reference.timestamp)
            if text not in self._times:
                microseconds = bridge.timestamp_of(
                    self.session.spark, reference.timestamp, self.current.put_into
                )
                self._times[text] = TimeMoment(microseconds=microseconds)
            return self._times[text]
        if reference.version is None:
            return moment_of_block(self.session)
        return moment_of_version(table.full_name, reference.version)

    def held(self, table: Table, txn_id: int | None) -> HeldVersion | None:
        """Return the version of a table that is read, and hold it while a transaction is open.

        Returns:
            None if the table is read as of now.

        Raises:
            AcidAnalysisError: see ``Metastore.find_version``.
        """
        if table.as_of is None:
            return None
        key = table.full_name, table.as_of
        if key not in self._held:
            moment, version = self._version(table, table.as_of)
            self._held[key] = held_version(self.session.metastore, table, moment, version, txn_id)
        return self._held[key]


def query_of_table(
    spark: SparkSession,
    parts: Sequence[str],
    version: int | str | None,
    timestamp: datetime | date | str | None,
    *,
    is_listed: bool = False,
) -> str:
    """Return the SQL query of a table's rows, as of a version or time if one is given.

    Args:
        spark: the session.
        parts: parts of the table's name.
        version: see ``acidsql.table``.
        timestamp: see ``acidsql.table``.
        is_listed: whether lists of valid ids determine the version that is read.

    Raises:
        AcidAnalysisError: INVALID_TIME_TRAVEL_SPEC, more than one version, timestamp or pair of
            lists is given.
    """
    name = ".".join(parts)
    if (version is not None) + (timestamp is not None) + is_listed > 1:
        raise AcidAnalysisError(
            "INVALID_TIME_TRAVEL_SPEC",
            f"{name} cannot be read as of two versions: give one of version, timestamp, and lists "
            "of valid ids",
        )
    text = f"SELECT * FROM {'.'.join(map(quote, parts))}"
    if version is not None:
        moment_of_version(name, str(version))
        text += f" VERSION AS OF {quoted_string(str(version))}"
    if timestamp is not None:
        text += f" TIMESTAMP AS OF {bridge.literal_sql(spark, timestamp)}"
    return text
