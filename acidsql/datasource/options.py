"""Options of ``format("acidsql")``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from acidsql.datasource.change_options import ChangeOptions, change_options, moment_of_time
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.kerberos import Kerberos
from acidsql.metastore.moments import Moment, moment_of_text
from acidsql.metastore.names import METASTORE_FILE, THRIFT
from acidsql.metastore.tls import Tls
from acidsql.metastore.version_failures import not_a_version
from acidsql.streaming.client import Client, open_client
from acidsql.streaming.connecting import local_zone_name

QUERY = "acidsql.query"
"""Option that marks the scan of one query (``bridge/SourceScans.java``)."""

# Options of ``df.write`` in a session with ``acidsql.enable`` that this source does not support.
_WRITES_OTHERWISE = {
    "mergeSchema": "adds no columns to the table",
    "overwriteSchema": "does not replace the table",
    "replaceWhere": "replaces none",
    "partitionOverwriteMode": "replaces no partitions",
}


class PlannedFor(StrEnum):
    """Queries that a reader serves.

    RELATION: all queries of a frame or view. ROWS: one query. FILTERED: one query with filters.
    """

    RELATION = "relation"
    ROWS = "rows"
    FILTERED = "filtered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Default values of options, and settings that only a session has.

    Attributes:
        metastore: path of an embedded metastore's file, or ``thrift://host:port``.
        time_zone: time zone of the table's local times; None for the zone of the machine.
        user: name of the user; None for the user of the process.
        metastore_timeout: see ``acidsql.streaming.connect``, also for the attributes below.
        txn_timeout: see there.
        lock_timeout: see there.
        synchronous: see there.
        kerberos: see there.
        tls: see there.
    """

    metastore: str = METASTORE_FILE
    time_zone: str | None = None
    user: str | None = None
    metastore_timeout: float = 60.0
    txn_timeout: float = 300.0
    lock_timeout: float = 300.0
    synchronous: bool = True
    kerberos: Kerberos | None = None
    tls: Tls | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Table and options that a reader or writer was given.

    Attributes:
        table: ``db.t``, or a name in the database ``default``.
        settings: the defaults, overridden by the given options.
        columns: names of the columns that are read; None for all.
        moment: the table is read as of this moment; None for now.
        stream: name of the stream that is written; None if it has no name.
        changes: changes that are read instead of rows; None to read rows.
        planned_for: queries that the reader serves.
    """

    table: str
    settings: Defaults
    columns: tuple[str, ...] | None = None
    moment: Moment | None = None
    stream: str | None = None
    changes: ChangeOptions | None = None
    planned_for: PlannedFor = PlannedFor.RELATION

    @property
    def zone(self) -> ZoneInfo:
        """Time zone of the local times in files.

        Raises:
            AcidAnalysisError: INVALID_PARAMETER_VALUE.
        """
        name = self.settings.time_zone or local_zone_name()
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise _invalid("timeZone", name, "give the name of a time zone") from error

    def on_another_machine(self) -> SourceOptions:
        """Return the options with this machine's time zone and metastore file filled in."""
        metastore = self.settings.metastore
        if not metastore.startswith(THRIFT):
            metastore = str(Path(metastore).resolve())
        settings = replace(self.settings, metastore=metastore, time_zone=self.zone.key)
        return replace(self, settings=settings)

    @contextmanager
    def client(self) -> Iterator[Client]:
        """Open the metastore in the block."""
        settings = self.settings
        client = open_client(
            settings.metastore,
            user=settings.user,
            timeout=settings.metastore_timeout,
            txn_timeout=settings.txn_timeout,
            synchronous=settings.synchronous,
            kerberos=settings.kerberos,
            tls=settings.tls,
        )
        try:
            yield client
        finally:
            client.close()


def source_options(given: Mapping[str, str], defaults: Defaults) -> SourceOptions:
    """Read the options of a reader or writer.

    Args:
        given: the options, with keys in lower case.
        defaults: values of options that are not given.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE, INVALID_PARAMETER_VALUE.CHANGES,
            INVALID_TIME_TRAVEL_SPEC, VERSION_NOT_FOUND.

    >>> source_options({"path": "db.t", "columns": "a, b"}, Defaults()).columns
    ('a', 'b')
    """
    table = given.get("table") or given.get("path")
    if not table:
        raise _invalid(
            "table",
            "",
            "name a table: load('db.t'), save('db.t') or option table. An entry that CREATE TABLE "
            "… USING acidsql of Spark by itself has made is no table: drop it, and use acidsql.sql",
        )
    settings = replace(
        defaults,
        metastore=given.get("metastore", defaults.metastore),
        time_zone=given.get("timezone", defaults.time_zone),
        user=given.get("user", defaults.user),
    )
    columns = given.get("columns")
    names = None if columns is None else tuple(n.strip() for n in columns.split(",") if n.strip())
    made = SourceOptions(
        table=table,
        settings=settings,
        columns=names,
        stream=given.get("stream") or given.get("checkpointlocation"),
        planned_for=PlannedFor(given.get(QUERY, PlannedFor.RELATION)),
    )
    changes = change_options(given, made.zone)
    if changes is not None:
        return replace(made, changes=changes)
    version, timestamp = given.get("versionasof"), given.get("timestampasof")
    if version is not None and timestamp is not None:
        raise AcidAnalysisError(
            "INVALID_TIME_TRAVEL_SPEC",
            f"{table} cannot be read as of two versions: give versionAsOf or timestampAsOf",
        )
    if version is not None:
        moment = moment_of_text(version)
        if moment is None:
            raise not_a_version(table, version)
        return replace(made, moment=moment)
    if timestamp is not None:
        return replace(made, moment=moment_of_time("timestampAsOf", timestamp, made.zone))
    return made


def check_written(given: Mapping[str, str], table: str) -> None:
    """Refuse options that other writers use to replace or merge rows: this source only appends.

    Args:
        given: options with keys in lower case.
        table: name of the table, for the message.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.WRITE_OPTION.
    """
    for name, does in _WRITES_OTHERWISE.items():
        value = given.get(name.lower(), "false")
        if value.lower() != "false":
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.WRITE_OPTION",
                f"option {name} is not possible where format('acidsql') writes {table} by itself: "
                f"it appends rows and {does}. Leave the option out, or write with df.write of a "
                "session with acidsql.enable, or with acidsql.sql",
            )


def _invalid(name: str, value: str, instead: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "INVALID_PARAMETER_VALUE", f"{name} is {value!r}: {instead}", {"parameter": name}
    )
