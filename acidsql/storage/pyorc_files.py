"""ORC files, read by pyorc.

pyorc contains ORC's C++ library. acidsql writes no rows with this library, and it shares no code
with the tail parser and the row reader that statements use. pyorc is an extra (``acidsql[files]``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from typing import Any

from acidsql.errors import AcidAnalysisError, AcidSqlError, FormatError
from acidsql.storage.range_reader import open_ranges
from acidsql.storage.readable_files import ReadableFiles

# Rows of a batch; larger batches need fewer calls from Python into C++.
_BATCH = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def has_pyorc() -> bool:
    """Return whether pyorc is installed."""
    return find_spec("pyorc") is not None


@contextmanager
def open_by_pyorc(
    files: ReadableFiles,
    path: str,
    size: int,
    columns: Sequence[str] | None = None,
    *,
    as_dicts: bool = True,
) -> Iterator[Any]:
    """Open a file in the block as a pyorc reader.

    Dates and timestamps are read as texts, because some of them have no Python value.

    Args:
        files: the file system.
        path: path of the file.
        size: size in bytes of the file or of its complete part.
        columns: names of the columns to read; None for all.
        as_dicts: whether structs, including rows, are dicts instead of tuples.

    Raises:
        AcidAnalysisError: PYORC_MISSING, pyorc is not installed.
        FormatError: FAILED_READ_FILE, the file is damaged or missing; also raised in the block.
    """
    pyorc = _pyorc()
    kinds = pyorc.TypeKind
    converters = {
        kinds.DATE: _converter(_date),
        kinds.TIMESTAMP: _converter(_timestamp),
        kinds.TIMESTAMP_INSTANT: _converter(_timestamp),
    }
    try:
        with open_ranges(partial(files.read, path), size) as stream:
            yield pyorc.Reader(
                stream,
                batch_size=_BATCH,
                column_names=columns,
                struct_repr=pyorc.StructRepr.DICT if as_dicts else pyorc.StructRepr.TUPLE,
                converters=converters,
            )
    except AcidSqlError:  # raised by the block; it is also a RuntimeError
        raise
    except (pyorc.ORCError, OSError, RuntimeError, ValueError) as error:
        # pyorc's message ends with its name for the stream.
        reason = str(error).partition(" from <")[0] or type(error).__name__
        raise FormatError(
            "FAILED_READ_FILE", f"{path} cannot be read by pyorc: {reason}", {"path": path}
        ) from error


def count_events(files: ReadableFiles, path: str, size: int) -> int:
    """Return the number of events in an ACID file; this decodes the operation of each event.

    Args:
        files: the file system.
        path: path of the file.
        size: size of the file in bytes.

    Raises:
        AcidAnalysisError: PYORC_MISSING.
        FormatError: FAILED_READ_FILE.
    """
    with open_by_pyorc(files, path, size, ["operation"], as_dicts=False) as reader:
        return sum(1 for _ in reader)


def _pyorc() -> Any:
    try:
        import pyorc  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise AcidAnalysisError(
            "PYORC_MISSING",
            "files are read by the package pyorc, which is not installed: "
            "pip install 'acidsql[files]'",
        ) from error
    return pyorc


def _converter(from_orc: Callable[..., str]) -> type:
    """Return a pyorc converter class for reading; pyorc requires both directions."""
    return type("Converter", (), {"from_orc": staticmethod(from_orc), "to_orc": staticmethod(str)})


def _date(days: int) -> str:
    try:
        return str((_EPOCH + timedelta(days=days)).date())
    except OverflowError:
        return f"day {days} from 1970 on"


def _timestamp(seconds: int, nanoseconds: int, _zone: object) -> str:
    """Return a timestamp as text; pyorc returns local times as if they were in UTC."""
    try:
        text = f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}"
    except OverflowError:
        return f"second {seconds} from 1970 on"
    fraction = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
    return f"{text}{fraction}"
