"""Files of tables, with the caches that all readers of this process share."""

from __future__ import annotations

from acidsql.arrow_reader.orc_file import KnownTails
from acidsql.limits import limits
from acidsql.once import once
from acidsql.storage.delete_files import EventCache
from acidsql.storage.local_files import LocalFiles
from acidsql.storage.readable_files import DeletableFiles
from acidsql.storage.tails import TailCache


class CachedFiles:
    """Files, and caches of published files, which never change.

    Attributes:
        files: file system of the tables.
        tails: cache of the tails of files.
        known: cache of the tails of data files, with the tails that Arrow uses.
        events: cache of delete events.
    """

    def __init__(self, files: DeletableFiles) -> None:
        self.files = files
        self.tails = TailCache(files, limits().cached_tails)
        self.known = KnownTails(files, limits().cached_tails)
        self.events = EventCache(files, limits().cached_event_bytes)


@once
def local_source() -> CachedFiles:
    """Return the files of the local disk."""
    return CachedFiles(LocalFiles())
