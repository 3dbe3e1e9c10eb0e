"""MSCK REPAIR TABLE: adds partitions and write ids of a table's directories to the metastore."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.adopt_table import existing
from acidsql.metastore.catalog_changes import AddPartitions, DropPartitions
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Table
from acidsql.metastore.write_ids_ahead import keep_write_ids_ahead
from acidsql.scan.snapshot import with_unknown_compactions
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.maintenance_statements import MsckRepair
from acidsql.transactions.write_intent import alter_intent
from acidsql.transactions.write_transaction import TableWrite, write_transaction


def repair(session: AcidSession, table: Table, statement: MsckRepair) -> DataFrame:
    """Run MSCK REPAIR TABLE: add partitions found in the table's directory, drop those without one.

    Later writes skip the write ids in the names of the added directories. For a table without
    partitions, only these write ids are recorded. (Hive: Msck, HiveMetaStoreChecker.)
    """
    source = RecordedStatement(operation="REPAIR TABLE", text=statement.text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        if not transaction.table.partition_columns:
            _learn_ids(transaction)
        else:
            if statement.mode in ("add", "sync"):
                _add(transaction)
            if statement.mode in ("drop", "sync"):
                _drop(transaction)
        transaction.commit([])
    return result.nothing(session.spark)


def _learn_ids(transaction: TableWrite) -> None:
    table, metastore = transaction.table, transaction.session.metastore
    names = transaction.listings.get(table.location).names
    keep_write_ids_ahead(metastore, table, names)
    with_unknown_compactions(metastore, transaction.txns, names)


def _add(transaction: TableWrite) -> None:
    session, table = transaction.session, transaction.table
    metastore = session.metastore
    known = {p.values for p in transaction.partitions()}
    adopted = existing(session, table, known)
    transaction.changes.append(
        AddPartitions(table=table, partitions=adopted.partitions, had_files=True)
    )
    metastore.seed_write_id(table.database, table.name, adopted.highest_write_id + 1)
    metastore.seed_txn_id(adopted.highest_txn_id + 1)


def _drop(transaction: TableWrite) -> None:
    files, table = transaction.session.files, transaction.table
    gone = [p for p in transaction.partitions() if not files.exists(p.location)]
    if gone:
        transaction.changes.append(DropPartitions(table=table, partitions=tuple(gone)))
