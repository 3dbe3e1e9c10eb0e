"""Requests for the changes of a table, as the arguments of a reference state them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidsql import bridge
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.model import Table
from acidsql.metastore.moments import (
    Bound,
    ChangeRange,
    TimeMoment,
    TransactionMoment,
    WriteIdMoment,
    moment_of_text,
)
from acidsql.scan.change_form import (
    check_has_changes,
    invalid_changes,
    keys_of,
    own_keys,
    seen_at,
)
from acidsql.session.acid_session import AcidSession
from acidsql.session.as_of_block import moment_of_block

_POSITIONAL = 2
_FROM_INCLUDED, _TO_INCLUDED = "starting_bound_inclusive", "ending_bound_inclusive"
_NAMED = ("since", "keys", "net", _FROM_INCLUDED, _TO_INCLUDED)


def requested_changes(
    session: AcidSession, table: Table, node: bridge.LogicalPlan, current: bridge.CurrentValues
) -> Table:
    """Return the table with the changes that a reference requests.

    Args:
        session: the session.
        table: the table that the name refers to.
        node: the reference (``Reference.changes``).
        current: the statement's current time.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.CHANGE_FEED, the table is a view or insert-only;
            INVALID_PARAMETER_VALUE.CHANGES; INVALID_CHECKPOINT; COLUMN_ALREADY_EXISTS;
            INVALID_TABLE_PROPERTY, ``KEYS_PROPERTY`` names a column that does not exist.
    """
    check_has_changes(table)
    given = bridge.changes_of(session.spark, node, current.put_into, _names_transaction)
    if isinstance(given, bridge.ChangesClause):
        changes = _of_clause(table, given)
    else:
        changes = _of_call(session, table, given)
    if changes.last is None:
        changes = replace(changes, last=moment_of_block(session))
    return replace(table, changes=changes)


def _of_clause(table: Table, clause: bridge.ChangesClause) -> ChangeRange:
    first = _moment_of_version(table, clause.first)
    if first is None:
        raise invalid_changes(table, "changes need a version or a time to begin with")
    return ChangeRange(
        first=first,
        last=_moment_of_version(table, clause.last),
        includes_first=clause.includes_first,
        includes_last=clause.includes_last or clause.last is None,
        keys=own_keys(table),
        net=clause.net,
    )


def _moment_of_version(table: Table, value: str | bridge.Timestamp | None) -> Bound | None:
    if isinstance(value, str):
        moment = moment_of_text(value)
        if moment is None:
            raise invalid_changes(
                table, f"{value!r} is no version, which is a write id or 'txn 17'"
            )
        return moment
    return None if value is None else TimeMoment(microseconds=value.microseconds)


def _names_transaction(text: str) -> bool:
    """Return whether a text names a transaction, as after VERSION AS OF; a number is a year."""
    return isinstance(moment_of_text(text), TransactionMoment)


def _of_call(session: AcidSession, table: Table, call: bridge.ChangesCall) -> ChangeRange:
    unknown = sorted(call.named.keys() - set(_NAMED))
    if unknown:
        raise invalid_changes(table, f"there is no argument {unknown[0]}: name {', '.join(_NAMED)}")
    is_since = "since" in call.named
    if len(call.positional) > _POSITIONAL or is_since == bool(call.positional):
        raise invalid_changes(
            table, "give the first version and perhaps the last one, or since => …"
        )
    bounds = [_bound(table, value) for value in call.positional]
    for name, given in ((_FROM_INCLUDED, len(bounds)), (_TO_INCLUDED, len(bounds) - 1)):
        if name in call.named and given < 1:
            raise invalid_changes(
                table, f"{name} is given, and there is no version or time that it is of"
            )
    first: Bound | ValidWriteIdList | None = bounds[0] if bounds else None
    since = call.named.get("since")
    if since is not None:
        if not isinstance(since, str):
            raise invalid_changes(table, f"since is {since!r}: give the text of a checkpoint")
        first = seen_at(session.metastore, table, since)
    return ChangeRange(
        first=first,
        last=bounds[1] if len(bounds) == _POSITIONAL else None,
        includes_first=_flag(table, call, _FROM_INCLUDED, default=True),
        includes_last=_flag(table, call, _TO_INCLUDED, default=True),
        keys=_keys(table, call.named["keys"]) if "keys" in call.named else own_keys(table),
        net=_flag(table, call, "net", default=False),
    )


def _flag(table: Table, call: bridge.ChangesCall, name: str, *, default: bool) -> bool:
    value = call.named.get(name, default)
    if not isinstance(value, bool):
        raise invalid_changes(table, f"{name} is {value!r}: give true or false")
    return value


def _keys(table: Table, value: object) -> tuple[str, ...]:
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(k, str) for k in listed):
        raise invalid_changes(table, f"keys is {value!r}: give the names of columns")
    return keys_of(table, listed)


def _bound(table: Table, value: object) -> Bound:
    if isinstance(value, bridge.Timestamp):
        return TimeMoment(microseconds=value.microseconds)
    moment = moment_of_text(value) if isinstance(value, str) else None
    if moment is not None:
        return moment
    if isinstance(value, int) and not isinstance(value, bool):
        return WriteIdMoment(write_id=value)
    shown = "NULL" if value is None else repr(value)
    raise invalid_changes(table, f"{shown} is neither a version nor a timestamp")


def pushable(
    table: Table, copies: Sequence[Sequence[bridge.Conjunct]]
) -> list[tuple[bridge.Conjunct, ...]]:
    """Return the conditions of a statement that its scan of a table's changes can use.

    If keys pair the rows, the scan must read both halves of each pair. It can then use only
    conditions on key columns.
    """
    changes = table.changes
    if changes is None or not changes.keys:
        return [tuple(copy) for copy in copies]
    keys = set(changes.keys)
    return [tuple(c for c in copy if c.columns.keys() <= keys) for copy in copies]
