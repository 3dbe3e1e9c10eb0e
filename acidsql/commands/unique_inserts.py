"""Unique inserts (``acidsql.merge.unique``): two MERGEs that insert the same key conflict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from pyspark.sql import functions as F
from pyspark.sql.types import DataType, MapType

from acidsql import bridge
from acidsql.errors import AcidAnalysisError, WriteConflictError
from acidsql.format.identifiers import folded
from acidsql.format.names import AcidDirectory
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.comparison import TableName
from acidsql.metastore.model import Partition, Table
from acidsql.planning.changes_since import changes_of, committed_since, inserted_rows
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote
from acidsql.transactions.write_transaction import TableWrite

UNIQUE_PROPERTY = "acidsql.merge.unique"


def unique_columns(session: AcidSession, table: Table) -> tuple[str, ...]:
    """Return the columns whose values a MERGE must not insert twice; none by default.

    Raises:
        AcidAnalysisError: INVALID_TABLE_PROPERTY, a column does not exist, or cannot be compared;
            UNSUPPORTED_FEATURE.UNIQUE_INSERTS, the metastore does not report concurrent inserts.
    """
    text = table.properties.get(UNIQUE_PROPERTY)
    if text is None:
        return ()
    if not session.metastore.capabilities.compares_rows:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.UNIQUE_INSERTS",
            f"{table.full_name} has the property {UNIQUE_PROPERTY}, and a Hive Metastore does not "
            "report which rows others insert at the same time: ALTER TABLE … UNSET TBLPROPERTIES "
            f"('{UNIQUE_PROPERTY}'), and run its MERGEs one after the other",
        )
    declared = {c.key: c for c in (*table.columns, *table.partition_columns)}
    names = [folded(name.strip()) for name in text.split(",")]
    for name in names:
        column = declared.get(name)
        if column is None or not _can_be_compared(bridge.parse_type(session.spark, column.type)):
            problem = "is no column" if column is None else f"has the type {column.type}"
            raise AcidAnalysisError(
                "INVALID_TABLE_PROPERTY",
                f"{table.full_name}: {UNIQUE_PROPERTY} is {text!r}, and {name!r} {problem}: name "
                "columns that can be compared, separated by commas",
            )
    return tuple(declared[name].name for name in names)


def _can_be_compared(data_type: DataType) -> bool:
    return not any(isinstance(part, MapType) for part in bridge.types_in(data_type))


@dataclass(slots=True, kw_only=True)
class UniqueInserts:
    """Conflict check for concurrent inserts of the keys that a MERGE inserts.

    Attributes:
        write: transaction of the MERGE.
        columns: columns of the key.
        statement_ids: statement ids of the clauses that insert.
        compared: write ids of the table that were compared already. At first these are the write
            ids in the snapshot of the MERGE; None if they must still be queried.
    """

    write: TableWrite
    columns: Sequence[str]
    statement_ids: Sequence[int]
    compared: ValidWriteIdList | None = None

    def compare(self) -> Mapping[TableName, ValidWriteIdList]:
        """Compare the keys with rows that others committed, see ``ConflictCheck``.

        Keys that contain NULL are never equal.

        Raises:
            WriteConflictError: CONCURRENT_WRITE, another statement has added rows with the same
                keys; any statement counts, not only MERGE.
        """
        table, metastore = self.write.table, self.write.session.metastore
        name = table.database, table.name
        txns = metastore.valid_txns()
        now = metastore.valid_write_ids(*name, txns)
        before = self.compared or metastore.valid_write_ids(*name, self.write.txns)
        others = committed_since(before, now)
        if others and self._share_a_key(others, txns):
            raise WriteConflictError(
                "CONCURRENT_WRITE",
                f"transaction {self.write.txn_id} was aborted: others have added rows to "
                f"{table.full_name} with a key ({', '.join(self.columns)}) that it inserts, and "
                f"committed first ({UNIQUE_PROPERTY}); run the statement again",
                {
                    "txnId": str(self.write.txn_id),
                    "winnerTxnId": "",
                    "object": table.full_name,
                },
            )
        self.compared = now
        return {name: now}

    def _may_insert(self, directory: AcidDirectory) -> bool:
        """Return whether a directory can contain rows that the MERGE has inserted.

        The commit of a transaction of several statements may have merged them with other rows.
        """
        is_one_of_several = not self.write.transaction.autocommit
        return is_one_of_several or directory.statement_id in self.statement_ids

    def _share_a_key(self, others: frozenset[int], txns: ValidTxnList) -> bool:
        write, table = self.write, self.write.table
        places: Sequence[Partition] = [Partition(values=(), location=table.location)]
        if table.partition_columns:
            places = write.partitions()
        theirs = changes_of(write.session, places, others)
        ours = [
            replace(c, inserts=tuple(filter(self._may_insert, c.inserts)))
            for c in changes_of(
                write.session, tuple(write.places.touched.values()), {write.write_id}
            )
        ]
        if not any(c.inserts or c.replaced for c in theirs) or not any(c.inserts for c in ours):
            return False
        if any(c.replaced for c in theirs):
            return True
        keys = [
            inserted_rows(write.session, table, changed, ids, txns, write.listings).select(
                *[F.col(quote(name)).alias(f"{side}_{i}") for i, name in enumerate(self.columns)]
            )
            for side, changed, ids in (("own", ours, {write.write_id}), ("their", theirs, others))
        ]
        same = [F.col(f"own_{i}") == F.col(f"their_{i}") for i in range(len(self.columns))]
        joined = keys[0].join(keys[1], reduce(and_, same), "left_semi")
        return bool(joined.limit(1).count())
