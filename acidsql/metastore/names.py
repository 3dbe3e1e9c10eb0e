"""Names of metastores, and the names of objects in them."""

from __future__ import annotations

import re
import uuid

from acidsql.format.identifiers import lowered

# Default file name of an embedded metastore, next to the warehouse.
METASTORE_FILE = "acidsql_metastore.sqlite"
# First characters of a Hive Metastore's address.
THRIFT = "thrift://"
# Table property with the process that created a temporary table.
TEMPORARY_PROCESS = "acidsql.temporary.process"
# First characters of the names of temporary tables in a metastore.
TEMPORARY_PREFIX = "acidsql_temporary"
_TEMPORARY = re.compile(TEMPORARY_PREFIX + r"_[0-9a-f]{12}_(.*)", re.DOTALL)


def partition_name(name: str | None) -> str | None:
    """Return a partition's name with its column names in lower case; values keep their case.

    >>> partition_name("Year=2024/Kind=A")
    'year=2024/kind=A'
    """
    if name is None:
        return None
    # Hive's Warehouse.makePartName escapes '/' and '=' in names and values, so the split is exact.
    pairs = (part.partition("=") for part in name.split("/"))
    return "/".join(lowered(column) + equals + value for column, equals, value in pairs)


def object_name(database: str, table: str, partition: str | None) -> str:
    """Return the name of a table or partition as messages show it.

    >>> object_name("db", "t", "p=1")
    'db.t/p=1'
    """
    return f"{database}.{table}" if partition is None else f"{database}.{table}/{partition}"


def temporary_table_name(name: str) -> str:
    """Return a new name in the metastore for a temporary table, given the user's name for it."""
    return f"{TEMPORARY_PREFIX}_{uuid.uuid4().hex[:12]}_{name}"


def name_of_temporary_table(name: str) -> str | None:
    """Return the user's name of a temporary table, or None for any other table of a metastore.

    >>> name_of_temporary_table("acidsql_temporary_0123456789ab_t"), name_of_temporary_table("t")
    ('t', None)
    """
    match = _TEMPORARY.fullmatch(name)
    return match[1] if match else None


def is_temporary_table(name: str) -> bool:
    """Return whether a table of a metastore is a temporary table of some session."""
    return name_of_temporary_table(name) is not None
