"""Tables that the tests of servers share."""

from __future__ import annotations

from acidsql.metastore.model import Column, Partition, Table
from acidsql.metastore.protocol import Metastore
from tests.metastore.server.launcher import MetastoreServer

COLUMNS = (Column(name="id", type="int"), Column(name="name", type="string"))


def make_tables(store: Metastore, server: MetastoreServer) -> None:
    """Create ``db.t``, and ``db.p`` with the partitions ``year=1`` and ``year=2``."""
    place = f"file:{server.warehouse}/db.db"
    store.create_database("db", place)
    store.create_table(Table(database="db", name="t", columns=COLUMNS, location=f"{place}/t"))
    store.create_table(
        Table(
            database="db",
            name="p",
            columns=COLUMNS,
            partition_columns=(Column(name="year", type="int"),),
            location=f"{place}/p",
        )
    )
    store.add_partitions(
        "db", "p", [Partition(values=(y,), location=f"{place}/p/year={y}") for y in "12"]
    )
