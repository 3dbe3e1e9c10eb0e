"""CREATE TAG, DROP TAG and SHOW TAGS: names for versions of a table, which cleaners retain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.targets import written_table
from acidsql.errors import AcidLookupError
from acidsql.metastore.model import Partition, Table
from acidsql.metastore.moments import WriteIdMoment
from acidsql.metastore.tags import Tag, check_tag_name, tags_unsupported
from acidsql.metastore.write_ids_ahead import learn_write_ids
from acidsql.planning.as_of import query_of_table
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.parsed_statement import parse_and_resolve
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.scan.snapshot import state_of
from acidsql.scan.tagged import kept_names
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.syntax.alter_statements import CreateTag, DropTag
from acidsql.syntax.show_statements import ShowTags

_SECONDS_PER_DAY = 86_400
_COLUMNS = (
    ("tag", "STRING"),
    ("version", "BIGINT"),
    ("committed", "TIMESTAMP"),
    ("created", "TIMESTAMP"),
    ("expires", "TIMESTAMP"),
    ("heldBytes", "BIGINT"),
)


def create_tag(session: AcidSession, statement: CreateTag) -> DataFrame | None:
    """Run CREATE TAG.

    Raises:
        AcidAnalysisError: INVALID_TAG_NAME, TAG_ALREADY_EXISTS, UNSUPPORTED_FEATURE.TAGS; the
            errors of VERSION AS OF.
    """
    table = _table(session, statement)
    if table is None:
        return None
    check_tag_name(statement.tag)
    days = statement.retain_days
    retain = None if days is None else float(days * _SECONDS_PER_DAY)
    name = table.database, table.name
    learn_write_ids(session, table, None)
    if statement.version is None:
        session.metastore.create_tag(*name, statement.tag, None, retain)
        return result.nothing(session.spark)
    # acidsql plans a query of the version. Planning fails if files of the version are gone, and
    # the snapshot holds back the cleaners until the tag exists.
    text = query_of_table(session.spark, name, statement.version, None)
    with leased_snapshot(session, kept=False) as snapshot:
        snapshot.run(parse_and_resolve(session, text))
        moment = WriteIdMoment(write_id=statement.version)
        session.metastore.create_tag(*name, statement.tag, moment, retain)
    return result.nothing(session.spark)


def drop_tag(session: AcidSession, statement: DropTag) -> DataFrame | None:
    """Run DROP TAG; the next compaction's cleaner, or VACUUM, removes the files that it retained.

    Raises:
        AcidLookupError: TAG_NOT_FOUND.
        AcidAnalysisError: UNSUPPORTED_FEATURE.TAGS.
    """
    table = _table(session, statement)
    if table is None:
        return None
    if statement.if_exists:
        with suppress(AcidLookupError):
            session.metastore.drop_tag(table.database, table.name, statement.tag)
    else:
        session.metastore.drop_tag(table.database, table.name, statement.tag)
    return result.nothing(session.spark)


def show_tags(session: AcidSession, statement: ShowTags) -> DataFrame:
    """Run SHOW TAGS: list the tags of a table, and the bytes that each tag retains.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.TAGS.
    """
    table = acid_table(session, statement.name)
    if not session.metastore.capabilities.queues_cleanups:
        raise tags_unsupported(table.full_name)
    tags = session.metastore.tags(table.database, table.name)
    held = _held_bytes(session, table, tags)
    rows = [
        (
            tag.name,
            tag.version.write_id,
            tag.version.committed,
            tag.created,
            tag.expires,
            size,
        )
        for tag, size in zip(tags, held, strict=True)
    ]
    return result.table(session.spark, _COLUMNS, rows)


def _table(session: AcidSession, statement: CreateTag | DropTag) -> Table | None:
    table = written_table(session, statement.name)
    if table is not None and not session.metastore.capabilities.queues_cleanups:
        raise tags_unsupported(table.full_name)
    return table


def _held_bytes(session: AcidSession, table: Table, tags: Sequence[Tag]) -> list[int]:
    """Return the bytes of files that each tag needs and the newest snapshot does not."""
    held = [0] * len(tags)
    txns = session.metastore.valid_txns()
    write_ids = session.metastore.valid_write_ids(table.database, table.name, txns)
    for place in _places(session, table) if tags else ():
        names = session.files.names(place.location)
        state = state_of(session.files, place.location, names, write_ids, txns)
        read = {directory.name for directory in state.directories} | set(state.originals)
        for number, tag in enumerate(tags):
            kept = kept_names(session.files, place.location, names, txns, [tag])
            paths = [child(place.location, name) for name in sorted(kept - read)]
            held[number] += sum(_size(session, path) for path in paths)
    return held


def _places(session: AcidSession, table: Table) -> Iterator[Partition]:
    if table.partition_columns:
        yield from session.metastore.partitions(table.database, table.name)
    else:
        yield Partition(values=(), location=table.location)


def _size(session: AcidSession, path: str) -> int:
    listing = session.files.list(path)
    return sum(file.size for file in listing.files.values()) or (
        0 if session.files.is_directory(path) else session.files.size(path)
    )
