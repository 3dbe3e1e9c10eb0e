"""Reading of ORC stripes by Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.arrow_reader.calendars import Numbers
from acidsql.arrow_reader.values import StripeValues
from acidsql.errors import FormatError
from acidsql.format import orc_compression
from acidsql.format.orc_plain_tail import cut_tail, is_proleptic, plain_name, plain_tail
from acidsql.format.orc_runs import decode_unsigned
from acidsql.format.orc_stripe_footer import SECONDARY, StripeFooter, parse_stripe_footer
from acidsql.format.orc_tail import OrcTail, parse_tail, tail_length
from acidsql.limits import limits
from acidsql.storage.directory import FileVersion
from acidsql.storage.range_reader import open_ranges
from acidsql.storage.readable_files import ReadableFiles


class KnownTail(NamedTuple):
    """Tail of a file, and the tail that Arrow reads in its place.

    Attributes:
        tail: parsed tail of the file.
        content_length: number of bytes before the tail.
        plain: tail for Arrow; see ``plain_tail``.
        is_proleptic: whether days use the proleptic Gregorian calendar.
    """

    tail: OrcTail
    content_length: int
    plain: bytes
    is_proleptic: bool


class KnownTails:
    """LRU cache of the tails of published files, or of the complete parts of growing files.

    Args:
        capacity: number of files.
    """

    def __init__(self, files: ReadableFiles, capacity: int) -> None:
        def read(path: str, _: FileVersion, length: int) -> KnownTail:
            return _read_tail(files, path, length)

        self._read = lru_cache(maxsize=capacity)(read)

    def get(self, path: str, version: FileVersion, length: int) -> KnownTail:
        """Return the tail at the end of the first ``length`` bytes of a file.

        Raises:
            FormatError: see ``parse_tail``; the error names the file.
        """
        return self._read(path, version, length)


def _read_tail(files: ReadableFiles, path: str, length: int) -> KnownTail:
    try:
        first = limits().tail_bytes
        last = files.read(path, max(0, length - first), min(length, first))
        needed = tail_length(last)
        if len(last) < needed <= length:
            last = files.read(path, length - needed, needed)
        tail = parse_tail(last, length)
        return KnownTail(tail, length - needed, plain_tail(last), is_proleptic(last))
    except FormatError as error:
        raise FormatError(error.condition, f"{path} cannot be read: {error.message}") from error
    except OSError as error:
        raise unreadable(path, error) from error


class StripeReader:
    """Reader of one stripe.

    Args:
        path: path of the file.
        stream: the file.
        known: tail of the file.
        stripe: number of the stripe.
    """

    def __init__(self, path: str, stream: BinaryIO, known: KnownTail, stripe: int) -> None:
        self._path = path
        self._stream = stream
        self._known = known
        self._stripe = stripe
        self._footer: StripeFooter | None = None
        self._whole = self._open(known.plain)
        self.values = StripeValues(
            path=path,
            tail=known.tail,
            is_proleptic=known.is_proleptic,
            time_zone=self._time_zone,
            nanos=self._nanos,
        )

    def _open(self, plain: bytes) -> pa_orc.ORCFile:
        start = self._known.content_length
        read = partial(_read_replaced, self._stream, start, plain)
        return pa_orc.ORCFile(open_ranges(read, start + len(plain)))

    def read(self, columns: Mapping[int, int], rows: int | None = None) -> list[pa.Array]:
        """Read columns as Arrow arrays.

        Args:
            columns: for each column id, the column id of its parent struct, 0 for the root.
            rows: number of leading rows to read; None for all rows.
        """
        if not columns:
            return []
        paths = {
            column: plain_name(column)
            if not parent
            else f"{plain_name(parent)}.{plain_name(column)}"
            for column, parent in columns.items()
        }
        file = self._whole
        if rows is not None and rows < self._known.tail.stripes[self._stripe].rows:
            file = self._open(cut_tail(self._known.plain, self._stripe, rows))
        batch = file.read_stripe(self._stripe, columns=list(paths.values()))
        return [
            batch.column(plain_name(parent)).field(plain_name(column))
            if parent
            else batch.column(plain_name(column))
            for column, parent in columns.items()
        ]

    def _nanos(self, column: int, count: int) -> Numbers:
        """Return the nanoseconds of the non-NULL values of a timestamp column."""
        footer = self._stripe_footer()
        stream = footer.stream(column, SECONDARY)
        section = b"" if stream is None else self._bytes(stream.offset, stream.length)
        tail = self._known.tail
        content = orc_compression.decompress(section, tail.compression, tail.block_size)
        packed = decode_unsigned(content, count, version=footer.encodings[column])
        # The lowest three bits contain the number of trailing zeros, minus one.
        zeros = packed & 7
        return (packed >> 3) * 10 ** (zeros + (zeros > 0))

    def _time_zone(self) -> str:
        return self._stripe_footer().time_zone

    def _stripe_footer(self) -> StripeFooter:
        if self._footer is None:
            tail = self._known.tail
            place = tail.stripes[self._stripe]
            offset = place.offset + place.index_length + place.data_length
            section = self._bytes(offset, place.footer_length)
            self._footer = parse_stripe_footer(section, tail, self._stripe)
        return self._footer

    def _bytes(self, offset: int, length: int) -> bytes:
        self._stream.seek(offset)
        return self._stream.read(length)


def _read_replaced(stream: BinaryIO, start: int, tail: bytes, offset: int, length: int) -> bytes:
    """Read bytes of a file as if ``tail`` replaced its content from ``start`` on."""
    content = b""
    if offset < start:
        stream.seek(offset)
        content = stream.read(min(length, start - offset))
    rest = max(0, offset - start)
    return content + tail[rest : rest + length - len(content)]


@contextmanager
def open_stripe(
    files: ReadableFiles, path: str, known: KnownTail, stripe: int
) -> Iterator[StripeReader]:
    """Open a file to read a stripe of it.

    Raises:
        FormatError: FAILED_READ_FILE, also from the block: the file is missing or damaged.
    """
    try:
        with files.open(path) as stream:
            yield StripeReader(path, stream, known, stripe)
    except FormatError as error:
        if error.condition == "INVALID_ORC_TAIL":
            raise unreadable(path, error) from error
        raise
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def unreadable(path: str, error: Exception) -> FormatError:
    """Return the error of a file that cannot be read."""
    return FormatError("FAILED_READ_FILE", f"{path} cannot be read: {error}", {"path": path})
