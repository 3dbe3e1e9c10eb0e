"""``acidsql.changes`` and ``acidsql.changes_since``: the rows that writes inserted or deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from pyspark.sql import DataFrame, SparkSession

from acidsql import api, bridge
from acidsql.errors import AcidAnalysisError
from acidsql.format.checkpoints import Checkpoint
from acidsql.metastore.moments import WriteIdMoment, moment_of_text
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.session.metrics import current
from acidsql.session.process import check_session
from acidsql.syntax.lexer import quote
from acidsql.syntax.values import literal

Time = datetime | date | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesSince:
    """Changes of a table since a checkpoint.

    Attributes:
        rows: the changes.
        checkpoint: end of these changes, where the next changes begin.

    >>> seen = acidsql.changes_since(spark, "pet", None)
    >>> acidsql.changes_since(spark, "pet", seen.checkpoint).rows.count()
    0
    """

    rows: DataFrame
    checkpoint: str


def changes(  # noqa: PLR0913 - options have names
    spark: SparkSession,
    name: str,
    *,
    from_version: int | str | None = None,
    to_version: int | str | None = None,
    from_timestamp: Time | None = None,
    to_timestamp: Time | None = None,
    starting_bound_inclusive: bool = True,
    ending_bound_inclusive: bool = True,
    keys: str | Sequence[str] | None = None,
    net: bool = False,
) -> DataFrame:
    """Return the changes of a table, as ``table_changes`` does.

    Args:
        spark: the session.
        name: name as in SQL: ``t``, ``db.t``, with backticks where needed.
        from_version: write id of the first changes, or ``txn 17`` for the changes of transaction
            17.
        to_version: write id or transaction of the last changes; by default the latest commit.
        from_timestamp: instead of ``from_version``: changes that were committed at that time or
            later.
        to_timestamp: instead of ``to_version``: changes up to that time.
        starting_bound_inclusive: False to exclude the changes of the first version, transaction or
            time itself.
        ending_bound_inclusive: False to exclude the changes of the last one.
        keys: columns that identify a row: a deletion and an insertion with the same values are an
            update. By default the table's property ``acidsql.changes.keys``; () for no keys.
        net: whether to omit rows that were inserted and deleted again.

    Returns:
        The columns of the table, ``_change_type``, ``_commit_version``, ``_commit_timestamp``, and
        the hidden column ``row__id``.

    Raises:
        AcidAnalysisError: VERSION_NOT_FOUND, HISTORY_NOT_AVAILABLE, VERSION_HAS_OTHER_COLUMNS;
            INVALID_CHANGE_RANGE, the end is before the beginning; INVALID_PARAMETER_VALUE.CHANGES,
            INVALID_TABLE_PROPERTY, UNSUPPORTED_FEATURE.CHANGE_FEED.

    >>> updated = acidsql.sql(spark, "UPDATE pet SET name = 'Felix' WHERE id = 2")
    >>> changed = acidsql.changes(spark, "pet", from_version=2)
    >>> changed.drop("_commit_timestamp").orderBy("_commit_version", "_change_type").show()
    +---+-----+----------------+---------------+
    | id| name|    _change_type|_commit_version|
    +---+-----+----------------+---------------+
    |  2|  Tom|          insert|              2|
    |  2|Felix|update_postimage|              3|
    |  2|  Tom| update_preimage|              3|
    +---+-----+----------------+---------------+
    """
    check_session(spark)
    first = _one(name, "from_version", from_version, "from_timestamp", from_timestamp)
    last = _one(name, "to_version", to_version, "to_timestamp", to_timestamp)
    if first is None:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE.CHANGES",
            f"changes of {name}: give from_version or from_timestamp",
        )
    bounds = [_literal(spark, value) for value in (first, last) if value is not None]
    if not starting_bound_inclusive:
        bounds.append("starting_bound_inclusive => false")
    if not ending_bound_inclusive:
        bounds.append("ending_bound_inclusive => false")
    return api.sql(spark, _text(spark, name, bounds, keys, net=net))


def changes_since(
    spark: SparkSession,
    name: str,
    checkpoint: str | None,
    *,
    keys: str | Sequence[str] | None = None,
    net: bool = False,
) -> ChangesSince:
    """Return the changes of a table since a checkpoint, and the next checkpoint.

    No change is lost or returned twice, regardless of the commit order of transactions.

    Args:
        spark: the session.
        name: name as in SQL: ``t``, ``db.t``, with backticks where needed.
        checkpoint: checkpoint of the last call; None returns all existing rows as inserts.
        keys: see ``changes``.
        net: see ``changes``.

    Raises:
        AcidAnalysisError: INVALID_CHECKPOINT, it belongs to another table, or is not a checkpoint;
            see also ``changes``.

    >>> seen = acidsql.changes_since(spark, "pet", None)
    >>> seen.rows.count()
    2
    >>> deleted = acidsql.sql(spark, "DELETE FROM pet WHERE id = 1")
    >>> news = acidsql.changes_since(spark, "pet", seen.checkpoint)
    >>> news.rows.select("name", "_change_type").collect()
    [Row(name='Rex', _change_type='delete')]
    """
    check_session(spark)
    since = literal(checkpoint)
    text = _text(spark, name, [f"since => {since}"], keys, net=net)
    with api.working(spark) as session, leased_snapshot(session) as snapshot:
        wanted = acid_table(session, bridge.parse_name(spark, name))
        frame = snapshot.run(text)
        current().result = frame
        (write_ids,) = snapshot.changes.ends.values()
        identity = session.metastore.table_identity(wanted.database, wanted.name)
        end = Checkpoint(write_ids=write_ids, table_id=identity)
        return ChangesSince(rows=frame, checkpoint=end.to_string())


def _one(
    name: str, of_version: str, version: int | str | None, of_time: str, time: Time | None
) -> int | Time | None:
    if version is not None and time is not None:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE.CHANGES",
            f"changes of {name}: give one of {of_version} and {of_time}",
        )
    if version is None:
        return time
    moment = moment_of_text(str(version))
    if moment is None:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE.CHANGES",
            f"changes of {name}: {of_version} is {version!r}: give a version, which is a write id, "
            "or 'txn 17' for a transaction",
        )
    return moment.write_id if isinstance(moment, WriteIdMoment) else str(version)


def _literal(spark: SparkSession, value: int | Time) -> str:
    return bridge.literal_sql(spark, value)


def _text(
    spark: SparkSession,
    name: str,
    bounds: Sequence[str],
    keys: str | Sequence[str] | None,
    *,
    net: bool,
) -> str:
    """Return the query of ``table_changes``."""
    parts = bridge.parse_name(spark, name)
    arguments = [literal(".".join(map(quote, parts))), *bounds]
    if keys is not None:
        listed = [keys] if isinstance(keys, str) else list(keys)
        arguments.append(f"keys => {literal(listed)}")
    if net:
        arguments.append("net => true")
    return f"SELECT * FROM table_changes({', '.join(arguments)})"
