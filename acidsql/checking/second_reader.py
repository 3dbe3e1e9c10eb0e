"""Events of a table's files as another implementation of ORC counts them."""

from __future__ import annotations

from acidsql.checking.contents import Contents, ReadFile
from acidsql.checking.survey import Survey
from acidsql.errors import FormatError
from acidsql.session.acid_session import AcidSession
from acidsql.storage.parallel import in_parallel
from acidsql.storage.pyorc_files import count_events, has_pyorc

_CODECS = frozenset({"none", "zlib", "snappy", "lz4", "zstd"})  # of pyorc


def look_through_pyorc(session: AcidSession, survey: Survey, contents: Contents) -> None:
    """Count the events of each file by pyorc, if it is installed, and compare with its tail."""
    if not has_pyorc():
        return
    files = [read for read in contents.files if read.file.tail.compression in _CODECS]

    def count(read: ReadFile) -> int | FormatError:
        file = read.file
        try:
            return count_events(session.files, file.path, file.tail.file_length)
        except FormatError as error:
            return error

    for read, found in zip(files, in_parallel(count, files), strict=True):
        if isinstance(found, FormatError):
            # A reader of ours may have found it before.
            if not survey.has("FAILED_READ_FILE", read.file.path):
                survey.add(read.ordinal, [read.file.problem("FAILED_READ_FILE", found.message)])
        elif found != read.file.tail.rows:
            detail = f"pyorc reads {found} events, its tail says {read.file.tail.rows}"
            survey.add(read.ordinal, [read.file.problem("DAMAGED_STRIPES", detail)])
