"""Options with which ``format("acidsql")`` reads the changes of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table
from acidsql.metastore.moments import Bound, TimeMoment, moment_of_text
from acidsql.scan.change_form import ChangeForm, keys_of, own_keys

CHANGE_FEED = "readChangeFeed"
"""Option that requests changes instead of rows, as in Delta Lake."""

_LATEST = "latest"
_NET, _ALL = "netchanges", "none"
_BOUNDS = ("startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp")
_INCLUSIVE = ("startingBoundInclusive", "endingBoundInclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """Options of a reader of changes.

    Attributes:
        first: moment of the first commits; None if it is not given.
        from_now: whether changes begin with the next commit.
        last: moment of the last commits; None for the latest commits.
        includes_first: whether commits at ``first`` itself are included.
        includes_last: whether commits at ``last`` itself are included.
        keys: names of columns that identify rows; None for the table's keys.
        net: whether to omit rows that were inserted and deleted again.
    """

    first: Bound | None = None
    from_now: bool = False
    last: Bound | None = None
    includes_first: bool = True
    includes_last: bool = True
    keys: tuple[str, ...] | None = None
    net: bool = False

    def form(self, table: Table) -> ChangeForm:
        """Return the form of a table's changes.

        Raises:
            AcidAnalysisError: INVALID_PARAMETER_VALUE.CHANGES, INVALID_TABLE_PROPERTY.
        """
        keys = own_keys(table) if self.keys is None else keys_of(table, self.keys)
        return ChangeForm(keys=keys, net=self.net)


def change_options(given: Mapping[str, str], zone: ZoneInfo) -> ChangeOptions | None:
    """Read the options of a reader of changes; return None if rows are requested.

    Args:
        given: the options, with keys in lower case.
        zone: time zone of times that name no zone.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.CHANGES, INVALID_PARAMETER_VALUE.

    >>> change_options({"readchangefeed": "true", "keys": "id"}, ZoneInfo("UTC")).keys
    ('id',)
    """
    if not _flag(given, CHANGE_FEED, default=False):
        for name in (*_BOUNDS, *_INCLUSIVE, "keys", "deduplicationMode"):
            if name.lower() in given:
                raise _invalid(f"{name} is of changes: give the option {CHANGE_FEED} as well")
        return None
    for name in ("versionasof", "timestampasof"):
        if name in given:
            raise _invalid("changes are read between versions: give startingVersion")
    start = given.get("startingversion")
    from_now = start is not None and start.strip().lower() == _LATEST
    mode = given.get("deduplicationmode", _ALL).lower()
    if mode not in (_NET, _ALL):
        raise _invalid(f"deduplicationMode is {mode!r}: give netChanges or none")
    keys = given.get("keys")
    first = None if from_now else _bound(given, "startingVersion", "startingTimestamp", zone)
    made = ChangeOptions(
        first=first,
        from_now=from_now,
        last=_bound(given, "endingVersion", "endingTimestamp", zone),
        includes_first=_flag(given, _INCLUSIVE[0], default=True),
        includes_last=_flag(given, _INCLUSIVE[1], default=True),
        keys=None if keys is None else tuple(k.strip() for k in keys.split(",") if k.strip()),
        net=mode == _NET,
    )
    if from_now and "startingtimestamp" in given:
        raise _invalid("give one of startingVersion and startingTimestamp")
    for name, bound in zip(_INCLUSIVE, (made.first, made.last), strict=True):
        if name.lower() in given and bound is None:
            raise _invalid(f"{name} is given, and there is no version or time that it is of")
    return made


def _bound(given: Mapping[str, str], version: str, time: str, zone: ZoneInfo) -> Bound | None:
    number, text = given.get(version.lower()), given.get(time.lower())
    if number is not None and text is not None:
        raise _invalid(f"give one of {version} and {time}")
    if text is not None:
        return moment_of_time(time, text, zone)
    if number is None:
        return None
    moment = moment_of_text(number)
    if moment is None:
        raise _invalid(f"{version} is {number!r}: give a write id, or 'txn 17' for a transaction")
    return moment


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name.lower(), str(default)).strip().lower()
    if text not in ("true", "false"):
        raise _invalid(f"{name} is {text!r}: give true or false")
    return text == "true"


def _invalid(message: str) -> AcidAnalysisError:
    return AcidAnalysisError("INVALID_PARAMETER_VALUE.CHANGES", f"format('acidsql'): {message}")


def moment_of_time(option: str, text: str, zone: ZoneInfo) -> TimeMoment:
    """Parse the time of an option to a moment; a text without a time zone is a local time.

    Args:
        option: name of the option.
        text: value of the option.
        zone: time zone of local times.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE",
            f"{option} is {text!r}: give a time such as 2024-07-01 12:00:00",
            {"parameter": option},
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return TimeMoment(microseconds=since // timedelta(microseconds=1))
