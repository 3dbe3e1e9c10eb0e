"""Names of metastores, and the names of objects in them."""

from __future__ import annotations

from acidsql.format.identifiers import lowered

# Default file name of an embedded metastore, next to the warehouse.
METASTORE_FILE = "acidsql_metastore.sqlite"
# First characters of a Hive Metastore's address.
THRIFT = "thrift://"


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
