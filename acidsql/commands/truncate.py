"""TRUNCATE TABLE."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.partitions import full_values, named_partitions, required
from acidsql.format.names import METADATA_FILE, TRUNCATED_CONTENT, base_name
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Partition, Table
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.nodes import PartitionSpec
from acidsql.syntax.statements import Truncate
from acidsql.transactions.write_intent import insert_intent
from acidsql.transactions.write_transaction import write_transaction


def truncate(session: AcidSession, table: Table, statement: Truncate) -> DataFrame:
    """Run TRUNCATE TABLE: hide the rows of a table, or of some partitions, under an empty base.

    No file is removed, so older snapshots can still be read. The cleaner of a later compaction
    removes the old directories. The table gets a write id even if it is empty, as in Hive.
    """
    spec = statement.partition
    named = _places(session, table, spec)
    is_one = spec is not None and full_values(session, table, spec) is not None and len(named) == 1
    only = named[0].values if is_one else None
    source = RecordedStatement(operation="TRUNCATE", text=statement.text)
    intent = insert_intent(table, source, only, overwrite=True)
    with write_transaction(session, intent) as transaction:
        emptied = [place.values for place in _places(session, transaction.table, spec)]
        transaction.places.announce(intent.operation, emptied)
        base = base_name(transaction.write_id)
        for values in emptied:
            transaction.place_file(values, base, METADATA_FILE, TRUNCATED_CONTENT)
        transaction.commit([(intent.operation, emptied)], WriteCounts(deleted=None))
    return result.nothing(session.spark)


def _places(session: AcidSession, table: Table, spec: PartitionSpec | None) -> list[Partition]:
    """Return the partitions that the statement empties; an unpartitioned table counts as one."""
    named = named_partitions(session, table, spec)
    if named is not None:
        return named
    if table.partition_columns:
        return required(session, table, None)
    return [Partition(values=(), location=table.location)]
