"""Damages of a table's files, each with what CHECK TABLE has to find."""

from __future__ import annotations

import hashlib
import shutil
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyorc

from acidsql.format.acid_metadata import footer_items
from acidsql.format.bucket_codec import encode
from acidsql.format.orc_tail import append_metadata
from tests.product.conftest import Event

SCHEMA = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int,s:string>>"
)
DELTA = "delta_0000001_0000001_0000"
DELETE_DELTA = "delete_delta_0000002_0000002_0000"
LATER = "delta_0000003_0000003_0000"
# A delta that a damage adds; the metastore knows its write id.
ADDED, ADDED_DELETES = "delta_0000004_0000004_0000", "delete_delta_0000004_0000004_0001"
FILE = "bucket_00000"
B0, B1 = encode(0), encode(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Damage of a table that has rows 1 and 3, and row 2 deleted.

    Attributes:
        make: damages the table in this directory.
        found: problem and relative path of what FULL finds.
        full: whether FAST finds nothing of it.
    """

    make: Callable[[Path], object]
    found: Sequence[tuple[str, str]]
    full: bool = False


def write(
    path: Path,
    events: Sequence[Event],
    *,
    metadata: Mapping[str, bytes] | None = None,
    schema: str = SCHEMA,
    row: object = (7, "x"),
) -> None:
    """Write an ACID file with a version file beside it, whose metadata are right by default."""
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "_orc_acid_version").write_bytes(b"2")
    zstd = pyorc.CompressionKind.ZSTD
    with path.open("wb") as stream, pyorc.Writer(stream, schema, compression=zstd) as writer:
        writer.writerows([(*event, None if event[0] == 2 else row) for event in events])
    deletes = sum(event[0] == 2 for event in events)
    keys = [events[-1][1:4]] if events else []
    stamp(
        path, footer_items(keys, len(events) - deletes, deletes) if metadata is None else metadata
    )


def stamp(path: Path, metadata: Mapping[str, bytes]) -> None:
    """Append user metadata to an ORC file."""
    content = path.read_bytes()
    path.write_bytes(content + append_metadata(content, len(content), metadata))


def checksums(content: bytes) -> bytes:
    """Return the checksum file that Hadoop writes beside a file."""
    parts = [content[i : i + 512] for i in range(0, len(content), 512)]
    sums = (struct.pack(">I", zlib.crc32(part)) for part in parts)
    return b"crc\0" + struct.pack(">i", 512) + b"".join(sums)


def _copy(source: str, target: str) -> Callable[[Path], object]:
    return lambda root: shutil.copytree(root / source, root / target)


def _rename(source: str, target: str) -> Callable[[Path], object]:
    return lambda root: (root / source).rename(root / target)


def _bytes(path: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda root: (root / path).write_bytes(change((root / path).read_bytes()))


def _added(
    events: Sequence[Event], directory: str = ADDED, name: str = FILE, **options: object
) -> Callable[[Path], object]:
    return lambda root: write(root / directory / name, events, **options)  # type: ignore[arg-type]


def _metadata(**items: bytes | None) -> Callable[[Path], object]:
    """Write a delta whose metadata lack some items, or have others."""
    right: dict[str, bytes | None] = {**footer_items([(4, B0, 0)], 1, 0)}
    right.update({f"hive.acid.{key.replace('_', '.')}": value for key, value in items.items()})
    return _added(_ROW, metadata={k: v for k, v in right.items() if v is not None})


def _side_file(directory: str, *lengths: int) -> Callable[[Path], object]:
    note = b"".join(length.to_bytes(8, "big", signed=True) for length in lengths)
    return lambda root: (root / directory / f"{FILE}_flush_length").write_bytes(note)


def _both(*damages: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda root: [damage(root) for damage in damages]


def _plain(path: str, schema: str = "struct<id:int,s:string>") -> Callable[[Path], object]:
    def make(root: Path) -> None:
        (root / path).parent.mkdir(exist_ok=True)
        with (root / path).open("wb") as stream, pyorc.Writer(stream, schema) as writer:
            writer.write((1, "a"))

    return make


def _version_file(root: Path) -> None:
    (root / ADDED / "_orc_acid_version").write_bytes(b"2")


def _postscript(content: bytes, field: bytes, value: int, pattern: bytes = b"") -> bytes:
    """Return a file whose postscript has another value after a field's bytes."""
    changed = bytearray(content)
    at = content.index(pattern or field, len(content) - 1 - content[-1]) + len(field)
    changed[at] = value
    return bytes(changed)


def _large(root: Path) -> None:
    """Write a delta of a stripe with some bytes."""
    path = root / ADDED / FILE
    rows = 500
    (root / ADDED).mkdir()
    (root / ADDED / "_orc_acid_version").write_bytes(b"2")
    texts = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(rows)]
    zstd = pyorc.CompressionKind.ZSTD
    with path.open("wb") as stream, pyorc.Writer(stream, SCHEMA, compression=zstd) as writer:
        writer.writerows([(0, 4, B0, i, 4, (i, text)) for i, text in enumerate(texts)])
    stamp(path, footer_items([(4, B0, rows - 1)], rows, 0))


def _damage_rows(root: Path) -> None:
    path = root / DELTA / FILE
    content = bytearray(path.read_bytes())
    with path.open("rb") as stream:
        stripe = next(iter(pyorc.Reader(stream).iter_stripes()))
        start, end = stripe.bytes_offset, stripe.bytes_offset + stripe.bytes_length
    content[start:end] = b"\xff" * (end - start)
    path.write_bytes(content)


def _checksums(root: Path, content: bytes) -> None:
    (root / DELTA / f".{FILE}.crc").write_bytes(checksums(content))


def _swapped(content: bytes) -> bytes:
    """Return other bytes of the same length."""
    return bytes(byte ^ 1 for byte in content)


_ROW: Sequence[Event] = [(0, 4, B0, 0, 4)]
_V1 = [(0, 4, B0, 0, 4), (1, 1, B0, 0, 4)]

DAMAGES: Mapping[str, Damage] = {
    # -- names of directories
    "a name nearly of a delta": Damage(
        make=_copy(DELTA, "delta_1_x"), found=[("INVALID_DIRECTORY_NAME", "delta_1_x")]
    ),
    "a statement id beyond the limit": Damage(
        make=_rename(LATER, "delta_0000003_0000003_5000"),
        found=[("INVALID_STATEMENT_ID", "delta_0000003_0000003_5000")],
    ),
    "a delta under two names": Damage(
        make=_copy(LATER, "delta_3_3_0"),
        found=[
            ("DUPLICATE_DIRECTORY", "delta_3_3_0"),
            ("DUPLICATE_ROW_ID", f"delta_3_3_0/{FILE}"),
        ],
    ),
    "compacted twice": Damage(
        make=_both(
            _added(_ROW, "delta_0000004_0000005_v0000001"),
            _added(_ROW, "delta_0000004_0000005_v0000002"),
        ),
        found=[("DUPLICATE_COMPACTION", "delta_0000004_0000005_v0000001")],
    ),
    "ranges with a part in common": Damage(
        make=_both(
            _added([(0, 4, B0, 0, 4)], "delta_0000004_0000005"),
            _added([(0, 6, B0, 0, 6)], "delta_0000005_0000006"),
        ),
        found=[("OVERLAPPING_WRITE_IDS", "delta_0000005_0000006")],
    ),
    "metadata of a base": Damage(
        make=_both(
            _added(_ROW, "base_0000004"),
            lambda root: (root / "base_0000004" / "_metadata_acid").write_bytes(b"{"),
        ),
        found=[("INVALID_BASE_METADATA", "base_0000004")],
    ),
    "an unknown kind of base": Damage(
        make=_both(
            _added(_ROW, "base_0000004"),
            lambda root: (root / "base_0000004" / "_metadata_acid").write_bytes(
                b'{"thisFileVersion":"0","dataFormat":"other"}'
            ),
        ),
        found=[("INVALID_BASE_METADATA", "base_0000004")],
    ),
    "a write id that was never given": Damage(
        make=_added([(0, 99, B0, 0, 99)], "delta_0000099_0000099_0000"),
        found=[("WRITE_ID_ABOVE_METASTORE", "delta_0000099_0000099_0000")],
    ),
    "a transaction id that was never given": Damage(
        make=_added(_ROW, "delta_0000004_0000005_v9999999"),
        found=[("TRANSACTION_ID_ABOVE_METASTORE", "delta_0000004_0000005_v9999999")],
    ),
    "staging that was left": Damage(
        make=lambda root: (root / "_acidsql_staging_9999999").mkdir(),
        found=[("DEAD_STAGING_DIRECTORY", "_acidsql_staging_9999999")],
    ),
    # -- names of files
    "a file of another program": Damage(
        make=lambda root: (root / DELTA / "part-00000.orc").write_bytes(b"x"),
        found=[("FOREIGN_FILE", f"{DELTA}/part-00000.orc")],
    ),
    "a bucket of one digit": Damage(
        make=_rename(f"{DELTA}/{FILE}", f"{DELTA}/bucket_0"),
        found=[("INVALID_BUCKET_FILE_NAME", f"{DELTA}/bucket_0")],
    ),
    "a bucket twice": Damage(
        make=lambda root: shutil.copy(root / LATER / FILE, root / LATER / f"{FILE}_1"),
        found=[
            ("DUPLICATE_BUCKET_FILE", f"{LATER}/{FILE}_1"),
            ("DUPLICATE_ROW_ID", f"{LATER}/{FILE}_1"),
        ],
    ),
    "a bucket beyond the limit": Damage(
        make=_added(_ROW, name="bucket_05000"),
        found=[
            ("BUCKET_OF_ANOTHER_FILE", f"{ADDED}/bucket_05000"),
            ("BUCKET_OUT_OF_RANGE", f"{ADDED}/bucket_05000"),
        ],
    ),
    "a side file without meaning": Damage(
        make=_side_file(DELTA, 0), found=[("STRAY_SIDE_FILE", f"{DELTA}/{FILE}_flush_length")]
    ),
    "a side file that cannot be right": Damage(
        make=_both(
            _added(_ROW, "delta_0000004_0000005"),
            _side_file("delta_0000004_0000005", 0, 10**9),
        ),
        found=[("OPEN_STREAMING_FILE", f"delta_0000004_0000005/{FILE}")],
    ),
    "a file that is not named like an original one": Damage(
        make=_plain("data.orc"), found=[("INVALID_ORIGINAL_FILE_NAME", "data.orc")]
    ),
    "a file beside a base": Damage(
        make=_both(_added(_ROW, "base_0000004"), _plain("data.orc")),
        found=[("FOREIGN_FILE", "data.orc")],
    ),
    "no version file": Damage(
        make=lambda root: (root / DELTA / "_orc_acid_version").unlink(),
        found=[("NO_VERSION_FILE", DELTA)],
    ),
    "another version": Damage(
        make=_bytes(f"{DELTA}/_orc_acid_version", lambda _: b"1"),
        found=[("INVALID_VERSION_FILE", f"{DELTA}/_orc_acid_version")],
    ),
    # -- content of files
    "a file without a byte": Damage(
        make=_bytes(f"{DELTA}/{FILE}", lambda _: b""), found=[("EMPTY_FILE", f"{DELTA}/{FILE}")]
    ),
    "delete events without a byte": Damage(
        make=_bytes(f"{DELETE_DELTA}/{FILE}", lambda _: b""),
        found=[("EMPTY_FILE", f"{DELETE_DELTA}/{FILE}")],
    ),
    "a file that was cut off": Damage(
        make=_bytes(f"{DELTA}/{FILE}", lambda content: content[:-9]),
        found=[("INVALID_ORC_TAIL", f"{DELTA}/{FILE}")],
    ),
    "a file of zeros": Damage(
        make=_bytes(f"{LATER}/{FILE}", lambda content: bytes(len(content))),
        found=[("INVALID_ORC_TAIL", f"{LATER}/{FILE}")],
    ),
    "a file that lost its beginning": Damage(
        make=_both(_large, _bytes(f"{ADDED}/{FILE}", lambda content: content[9000:])),
        found=[("DAMAGED_STRIPES", f"{ADDED}/{FILE}")],
    ),
    "a newer version of ORC": Damage(
        make=_bytes(f"{LATER}/{FILE}", lambda content: _postscript(content, b"\x22\x02", 2)),
        found=[("UNSUPPORTED_ORC_VERSION", f"{LATER}/{FILE}")],
    ),
    "another compression": Damage(
        make=_bytes(
            f"{LATER}/{FILE}", lambda content: _postscript(content, b"\x10", 6, b"\x10\x05\x18")
        ),
        found=[("UNSUPPORTED_ORC_COMPRESSION", f"{LATER}/{FILE}")],
    ),
    "a plain file that is named like a bucket": Damage(
        make=_both(_plain(f"{ADDED}/{FILE}"), _version_file),
        found=[("NOT_AN_ACID_FILE", f"{ADDED}/{FILE}")],
    ),
    "an ACID file outside of a directory": Damage(
        make=lambda root: shutil.copy(root / LATER / FILE, root / "000000_0"),
        found=[("ACID_FILE_WITHOUT_DIRECTORY", "000000_0")],
    ),
    "a column of another kind": Damage(
        make=_added(_ROW, schema=SCHEMA.replace("s:string", "s:array<int>"), row=(7, [1])),
        found=[("COLUMN_TYPE_MISMATCH", f"{ADDED}/{FILE}")],
    ),
    "files with other columns in a directory": Damage(
        make=_both(
            _added(_ROW),
            _added([(0, 4, B1, 0, 4)], name="bucket_00001", schema=SCHEMA.replace("id:", "other:")),
        ),
        found=[("MIXED_COLUMNS", f"{ADDED}/bucket_00001")],
    ),
    "a checksum file of a file that was longer": Damage(
        make=lambda root: _checksums(root, bytes(100_000)),
        found=[("CHECKSUM_MISMATCH", f"{DELTA}/{FILE}")],
    ),
    # -- metadata of files
    "no key index": Damage(
        make=_metadata(key_index=None), found=[("NO_KEY_INDEX", f"{ADDED}/{FILE}")]
    ),
    "an empty key index": Damage(
        make=_metadata(key_index=b""), found=[("INVALID_KEY_INDEX", f"{ADDED}/{FILE}")]
    ),
    "a key index of another file": Damage(
        make=_metadata(key_index=b"3,536870912,0;"),
        found=[("INVALID_KEY_INDEX", f"{ADDED}/{FILE}")],
    ),
    "no counts": Damage(make=_metadata(stats=None), found=[("NO_ACID_STATS", f"{ADDED}/{FILE}")]),
    "counts of another file": Damage(
        make=_metadata(stats=b"0,0,0"), found=[("INVALID_ACID_STATS", f"{ADDED}/{FILE}")]
    ),
    "another ACID version of a file": Damage(
        make=_metadata(version=b"1"), found=[("INVALID_ACID_VERSION", f"{ADDED}/{FILE}")]
    ),
    # -- events
    "updates of ACID version 1": Damage(
        make=_added(_V1), found=[("ACID_V1_EVENTS", f"{ADDED}/{FILE}")]
    ),
    "rows among delete events": Damage(
        make=_added(_ROW, ADDED_DELETES),
        found=[("ROWS_AMONG_DELETE_EVENTS", f"{ADDED_DELETES}/{FILE}")],
    ),
    "a delta that was renamed": Damage(
        make=_rename(LATER, ADDED), found=[("WRITE_ID_OUT_OF_RANGE", f"{ADDED}/{FILE}")]
    ),
    "a bucket that was renamed": Damage(
        make=_rename(f"{LATER}/{FILE}", f"{LATER}/bucket_00001"),
        found=[("BUCKET_OF_ANOTHER_FILE", f"{LATER}/bucket_00001")],
    ),
    "a bucket property of an unknown version": Damage(
        make=_added([(0, 4, 3 << 29, 0, 4)]),
        found=[("INVALID_BUCKET_PROPERTY", f"{ADDED}/{FILE}")],
    ),
    "the same rows in two files": Damage(
        make=_both(_added(_ROW), _added(_ROW, "delta_0000004_0000004_0001")),
        found=[("DUPLICATE_ROW_ID", f"delta_0000004_0000004_0001/{FILE}")],
    ),
    # -- row ids, which FULL reads
    "rows that are not sorted": Damage(
        make=_added([(0, 4, B0, 1, 4), (0, 4, B0, 0, 4), (0, 4, B0, 2, 4)]),
        found=[("UNSORTED_ROWS", f"{ADDED}/{FILE}")],
        full=True,
    ),
    "a row of another bucket among others": Damage(
        make=_added([(0, 4, 0, 0, 4), (0, 4, 1, 0, 4), (0, 4, B0, 0, 4)]),
        found=[("BUCKET_OF_ANOTHER_FILE", f"{ADDED}/{FILE}")],
        full=True,
    ),
    "a row id twice in a file": Damage(
        make=_added([(0, 4, B0, 0, 4), (0, 4, B0, 0, 4)]),
        found=[("DUPLICATE_ROW_ID", f"{ADDED}/{FILE}")],
        full=True,
    ),
    "row ids in two files with gaps": Damage(
        make=_both(
            _added([(0, 4, B0, 0, 4), (0, 4, B0, 5, 4)]),
            _added([(0, 4, B0, 3, 4), (0, 4, B0, 5, 4)], "delta_0000004_0000004_0001"),
        ),
        found=[("DUPLICATE_ROW_ID", f"delta_0000004_0000004_0001/{FILE}")],
        full=True,
    ),
    "delete events that are not sorted": Damage(
        make=_both(
            _added([(0, 4, B0, i, 4) for i in range(3)]),
            _added([(2, 4, B0, i, 5) for i in (1, 0, 2)], "delete_delta_0000005_0000005_0000"),
        ),
        found=[("UNSORTED_DELETE_EVENTS", f"delete_delta_0000005_0000005_0000/{FILE}")],
        full=True,
    ),
    "a row that is deleted twice": Damage(
        make=_added([(2, 1, B0, 1, 4)], ADDED_DELETES),
        found=[("DUPLICATE_DELETE_EVENT", f"{ADDED_DELETES}/{FILE}")],
        full=True,
    ),
    "a delete event of no row": Damage(
        make=_added([(2, 1, B0, 99, 4)], ADDED_DELETES),
        found=[("DELETE_EVENT_WITHOUT_ROW", f"{ADDED_DELETES}/{FILE}")],
        full=True,
    ),
    "rows that cannot be read": Damage(
        make=_damage_rows,
        found=[("FAILED_READ_FILE", f"{DELTA}/{FILE}")],
        full=True,
    ),
    "a checksum file of other bytes": Damage(
        make=lambda root: _checksums(root, _swapped((root / DELTA / FILE).read_bytes())),
        found=[("CHECKSUM_MISMATCH", f"{DELTA}/{FILE}")],
        full=True,
    ),
}
