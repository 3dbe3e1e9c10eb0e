"""The file ``_metadata`` of an archive that EXPORT TABLE of Hive or acidsql wrote.

It describes a table and its partitions (``MetadataJson``, ``TableSerializer``,
``PartitionSerializer``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from acidsql.errors import FormatError
from acidsql.metastore.hive.conversions import (
    ColumnConstraints,
    from_hive,
    is_ours,
    partition_from_hive,
    partition_to_hive,
    to_hive,
)
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.thrift_json import decode, encode
from acidsql.metastore.model import Partition, Table

METADATA = "_metadata"
# Directory that contains the files of a table without partitions.
DATA = "data"
_VERSION = "0.2"
_TABLE, _PARTITIONS = "table", "partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Table in an archive.

    Attributes:
        table: its definition, with the original names.
        transactional: whether it was transactional.
        partitions: values of its partitions.
    """

    table: Table
    transactional: bool
    partitions: tuple[tuple[str, ...], ...]


def archive_text(table: Table, partitions: Sequence[Partition]) -> str:
    """Return the content of ``_metadata``."""
    made = to_hive(table)
    content = {
        "version": _VERSION,
        _TABLE: encode(made),
        _PARTITIONS: [encode(partition_to_hive(made, partition)) for partition in partitions],
    }
    return json.dumps(content, separators=(",", ":"))


def read_archive(path: str, text: str) -> Archive:
    """Read the content of ``_metadata``.

    Args:
        path: path of the archive.
        text: the content.

    Raises:
        FormatError: INVALID_ARCHIVE, the text has another form, or a later version.
        AcidAnalysisError: UNSUPPORTED_FILE_FORMAT.
    """
    try:
        content = json.loads(text)
        version = str(content["version"])
        if version.partition(".")[0] != _VERSION.partition(".")[0]:
            raise _invalid(path, f"it is of version {version}, and {_VERSION} is known")
        if _TABLE not in content:
            raise _invalid(path, "it has no table; it is that of a replication")
        structure = decode(hms.Table, content[_TABLE])
        partitions = [decode(hms.Partition, partition) for partition in content[_PARTITIONS]]
    except (ValueError, KeyError, TypeError) as error:
        raise _invalid(path, f"it is not of Hive's form ({error})") from error
    table = from_hive(structure, ColumnConstraints(defaults={}))
    return Archive(
        table=replace(table, location=""),
        transactional=is_ours(structure),
        partitions=tuple(partition_from_hive(structure, p).values for p in partitions),
    )


def _invalid(path: str, reason: str) -> FormatError:
    return FormatError(
        "INVALID_ARCHIVE",
        f"{path}/{METADATA} cannot be read: {reason}; EXPORT the table again",
    )
