"""Directories that tags keep, because the tagged versions read them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from acidsql.errors import AcidAnalysisError
from acidsql.format.selection import without_later_compactions
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.model import Table
from acidsql.metastore.tags import Tag
from acidsql.scan.snapshot import state_of
from acidsql.session.acid_session import AcidSession
from acidsql.storage.readable_files import ReadableFiles

logger = logging.getLogger(__name__)


def live_tags(session: AcidSession, table: Table) -> tuple[Tag, ...]:
    """Return the tags of a table that have not expired."""
    now = time.time()
    return tuple(
        tag
        for tag in session.metastore.tags(table.database, table.name)
        if tag.expires is None or tag.expires > now
    )


def kept_names(
    files: ReadableFiles,
    location: str,
    names: Sequence[str],
    txns: ValidTxnList,
    tags: Sequence[Tag],
) -> frozenset[str]:
    """Return the names of the directories and files of a partition that tags read.

    The directories that a tag reads are selected from the existing ones, so the selection does not
    change when the other directories are removed.

    Args:
        files: the file system.
        location: location of the partition.
        names: existing names in the partition.
        txns: transactions that are visible now.
        tags: tags that have not expired.
    """
    kept: set[str] = set()
    for tag in tags:
        visible_names = without_later_compactions(names, tag.version.complete_up_to)
        try:
            state = state_of(files, location, visible_names, tag.version.write_ids, txns)
        except AcidAnalysisError as error:
            # A base that the tag needs is gone. acidsql's cleaners have not removed it.
            logger.warning("tag %r keeps nothing in %s: %s", tag.name, location, error)
            continue
        kept.update(directory.name for directory in state.directories)
        kept.update(state.originals)
    return frozenset(kept)
