"""Bucket property: the codec version, bucket id and statement id in one signed 32-bit integer.

ACID files store it in the column ``bucket``. Hive: ``BucketCodec``. V0 (Hive 2) is only the bucket
id. V1 has, from the highest bit, 3 bits of version, 1 reserved, 12 of bucket id, 4 reserved, 12 of
statement id.
"""

from __future__ import annotations

from acidsql.errors import FormatError

MAX_BUCKET_ID = 4095
MAX_STATEMENT_ID = 4095

# Positions of the lowest bits of the version and the bucket id.
VERSION_SHIFT = 29
BUCKET_SHIFT = 16
_MASK = 0xFFF


def encode(bucket_id: int, statement_id: int = 0) -> int:
    """Return the V1 bucket property of a writer and a statement.

    Raises:
        FormatError: an id is negative or does not fit in its 12 bits (BUCKET_OUT_OF_RANGE).

    >>> encode(1, 1)
    536936449
    """
    if not 0 <= bucket_id <= MAX_BUCKET_ID:
        raise FormatError(
            "BUCKET_OUT_OF_RANGE",
            f"bucket id {bucket_id} is not between 0 and {MAX_BUCKET_ID}: "
            "use fewer buckets or fewer writers",
        )
    if not 0 <= statement_id <= MAX_STATEMENT_ID:
        raise FormatError(
            "BUCKET_OUT_OF_RANGE",
            f"statement id {statement_id} is not between 0 and {MAX_STATEMENT_ID}: "
            "commit the transaction and go on in another",
        )
    return 1 << VERSION_SHIFT | bucket_id << BUCKET_SHIFT | statement_id


def decode_bucket(value: int) -> int:
    """Return the bucket (writer) id of a bucket property of version 0 or 1.

    Raises:
        FormatError: the version is neither 0 nor 1 (INVALID_BUCKET_PROPERTY).
    """
    return value >> BUCKET_SHIFT & _MASK if _version(value) == 1 else value


def decode_statement(value: int) -> int:
    """Return the statement id of a bucket property, 0 for version 0, which contains none.

    Raises:
        FormatError: the version is neither 0 nor 1 (INVALID_BUCKET_PROPERTY).
    """
    return value & _MASK if _version(value) == 1 else 0


def _version(value: int) -> int:
    version = value >> VERSION_SHIFT & 0b111
    if version > 1:
        raise FormatError(
            "INVALID_BUCKET_PROPERTY",
            f"bucket property {value} has version {version}: only 0 and 1 exist, "
            "the file was not written by a Hive 2, 3 or 4 writer",
        )
    return version


def decode_bucket_sql(column: str) -> str:
    """Return Spark SQL for :func:`decode_bucket`; NULL gives NULL.

    Args:
        column: SQL text of an INT expression that gives bucket properties.
    """
    version = f"shiftrightunsigned({column}, {VERSION_SHIFT})"
    bucket = f"shiftrightunsigned({column}, {BUCKET_SHIFT}) & {_MASK}"
    # An unknown version must fail. NULL or a guess would put a delete event into a wrong file.
    failure = f"raise_error(concat('INVALID_BUCKET_PROPERTY: ', {column}))"
    return (
        f"(CASE WHEN {version} = 1 THEN {bucket} WHEN {version} = 0 THEN {column} "
        f"WHEN {column} IS NOT NULL THEN CAST({failure} AS INT) END)"
    )
