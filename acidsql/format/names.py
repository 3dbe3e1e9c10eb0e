"""Names of the directories and files of an ACID table (Hive: ``AcidUtils``, ``AcidConstants``).

acidsql parses the names of all Hive releases (any zero padding, with or without ``_v``). It builds
names only in the form that every Hive release reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from acidsql.format.bucket_codec import MAX_BUCKET_ID

VERSION_FILE = "_orc_acid_version"
VERSION_CONTENT = b"2"
METADATA_FILE = "_metadata_acid"
# Contents of the metadata file (AcidMetaDataFile) in bases that Hive's TRUNCATE or compactor wrote.
TRUNCATED_CONTENT = b'{"thisFileVersion":"0","dataFormat":"truncated"}'
COMPACTED_CONTENT = b'{"thisFileVersion":"0","dataFormat":"compacted"}'
STAGING_PREFIX = "_acidsql_staging_"
# Suffix of the side file that contains the length of a growing file (OrcAcidUtils).
SIDE_FILE_SUFFIX = "_flush_length"
OWNER_FILE = "_acidsql_owner"
# Directory of a table where CHECK TABLE … REPAIR puts the files that it moves away.
ASIDE = "_acidsql_aside"

LONG_MIN = -(2**63)
LONG_MAX = 2**63 - 1


class DirectoryKind(Enum):
    """Kind of an ACID directory; the value is the prefix of its name."""

    BASE = "base"
    DELTA = "delta"
    DELETE_DELTA = "delete_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidDirectory:
    """Parsed name of an ACID directory.

    Attributes:
        name: name without its parent.
        kind: base, delta or delete delta.
        min_write_id: lowest write id inside; for a base equal to ``max_write_id``.
        max_write_id: highest write id inside; ``LONG_MIN`` for the first compaction of a converted
            table that was never written to.
        statement_id: statement id of a delta that one statement wrote; ``None`` for bases and for
            compacted and streaming deltas.
        visibility_txn_id: transaction of the compaction that wrote the directory; 0 without a
            ``_v`` suffix.
    """

    name: str
    kind: DirectoryKind
    min_write_id: int
    max_write_id: int
    statement_id: int | None
    visibility_txn_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketFile:
    """Parsed name of a bucket file.

    ``attempt_id`` is the suffix that Hive adds for direct inserts, or ``None``.
    """

    name: str
    bucket_id: int
    attempt_id: int | None


# No name can have more digits. Python refuses to parse numbers with thousands of digits.
_ID = "([0-9]{1,255})"
_BASE = re.compile(rf"base_(-?[0-9]{{1,255}})(?:_v{_ID})?")
_DELTA = re.compile(rf"(delta|delete_delta)_{_ID}_{_ID}(?:_{_ID})?(?:_v{_ID})?")
_BUCKET = re.compile(rf"bucket_{_ID}(?:_{_ID})?")
_ORIGINAL = re.compile(r"[0-9]+_[0-9]+(?:_copy_[0-9]+)?")


def parse_directory(name: str) -> AcidDirectory | None:
    """Parse the name of a base, delta or delete delta; ``None`` if it is not one.

    >>> parse_directory("delta_12_34_v56").max_write_id
    34
    """
    parsed = _parse_base(name) if name.startswith("base_") else _parse_delta(name)
    if parsed is None:
        return None
    in_range = max(parsed.max_write_id, parsed.visibility_txn_id) <= LONG_MAX
    return parsed if in_range and parsed.min_write_id <= parsed.max_write_id else None


def _parse_base(name: str) -> AcidDirectory | None:
    match = _BASE.fullmatch(name)
    if match is None:
        return None
    write_id = int(match[1])
    if write_id < 0 and write_id != LONG_MIN:
        return None
    return AcidDirectory(
        name=name,
        kind=DirectoryKind.BASE,
        min_write_id=write_id,
        max_write_id=write_id,
        statement_id=None,
        visibility_txn_id=int(match[2] or 0),
    )


def _parse_delta(name: str) -> AcidDirectory | None:
    match = _DELTA.fullmatch(name)
    if match is None:
        return None
    return AcidDirectory(
        name=name,
        kind=DirectoryKind(match[1]),
        min_write_id=int(match[2]),
        max_write_id=int(match[3]),
        statement_id=None if match[4] is None else int(match[4]),
        visibility_txn_id=int(match[5] or 0),
    )


def base_name(write_id: int, visibility_txn_id: int = 0) -> str:
    """Return the name of a base.

    >>> base_name(7), base_name(7, visibility_txn_id=42)
    ('base_0000007', 'base_0000007_v0000042')
    """
    return f"base_{write_id:07d}{_visibility_suffix(visibility_txn_id)}"


def delta_name(
    min_write_id: int,
    max_write_id: int,
    statement_id: int | None = None,
    visibility_txn_id: int = 0,
) -> str:
    """Return the name of an insert delta; compacted deltas have no statement id.

    >>> delta_name(5, 5, 1), delta_name(1, 5, visibility_txn_id=9)
    ('delta_0000005_0000005_0001', 'delta_0000001_0000005_v0000009')
    """
    statement = "" if statement_id is None else f"_{statement_id:04d}"
    suffix = _visibility_suffix(visibility_txn_id)
    return f"delta_{min_write_id:07d}_{max_write_id:07d}{statement}{suffix}"


def delete_delta_name(
    min_write_id: int,
    max_write_id: int,
    statement_id: int | None = None,
    visibility_txn_id: int = 0,
) -> str:
    """Return the name of a delete delta; see :func:`delta_name` for the arguments.

    >>> delete_delta_name(5, 5, 0)
    'delete_delta_0000005_0000005_0000'
    """
    return f"delete_{delta_name(min_write_id, max_write_id, statement_id, visibility_txn_id)}"


def _visibility_suffix(visibility_txn_id: int) -> str:
    return f"_v{visibility_txn_id:07d}" if visibility_txn_id > 0 else ""


def bucket_file_name(bucket_id: int) -> str:
    """Return the name of a bucket file in the form that both Hive 3 and 4 read.

    >>> bucket_file_name(0)
    'bucket_00000'
    """
    return f"bucket_{bucket_id:05d}"


def parse_bucket_file(name: str) -> BucketFile | None:
    """Parse ``bucket_N`` or ``bucket_N_A`` (Hive: ``BUCKET_PATTERN``); ``None`` for any other name.

    Side files (``bucket_00000_flush_length``) and names with an extension are not bucket files.
    """
    match = _BUCKET.fullmatch(name)
    if match is None:
        return None
    attempt_id = None if match[2] is None else int(match[2])
    return BucketFile(name=name, bucket_id=int(match[1]), attempt_id=attempt_id)


def is_hidden(name: str) -> bool:
    """Return whether readers ignore files with this name (Hive: ``hiddenFileFilter``)."""
    return name.startswith(("_", "."))


def original_file_name(number: int) -> str:
    """Return the name of a file without row ids by its number in the directory, from 0 on.

    The leading digits are a bucket id. If there are more files than bucket ids, the names continue
    with copies.

    >>> original_file_name(1), original_file_name(4097)
    ('000001_0', '000001_0_copy_1')
    """
    copy, bucket_id = divmod(number, MAX_BUCKET_ID + 1)
    return f"{bucket_id:06d}_0" + (f"_copy_{copy}" if copy else "")


def is_original_file(name: str) -> bool:
    """Return whether a name is that of a file from before a table's conversion to ACID.

    >>> is_original_file("000000_0_copy_1"), is_original_file("part-00000")
    (True, False)
    """
    return _ORIGINAL.fullmatch(name) is not None
