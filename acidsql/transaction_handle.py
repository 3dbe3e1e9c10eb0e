"""``acidsql.transaction``: a context manager for a transaction of several statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession

from acidsql import api
from acidsql.commands import transactions
from acidsql.errors import TransactionStateError
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import current
from acidsql.session.owner_thread import acting_for
from acidsql.transactions.explicit import ExplicitTransaction
from acidsql.transactions.start import roll_back_abandoned
from acidsql.transactions.start import start as begin


class TransactionHandle:
    """Transaction of several statements; made by ``acidsql.transaction``.

    The transaction belongs to the thread that began it. All statements of this thread on the
    session are part of it. Other threads can use its methods; their statements run one at a time.

    >>> with acidsql.transaction(spark) as txn:
    ...     deleted = txn.sql("DELETE FROM pet WHERE id = 1")
    ...     print(txn.table("pet").collect())
    ...     txn.rollback()
    [Row(id=2, name='Tom')]
    >>> txn.is_open, acidsql.table(spark, "pet").count()
    (False, 2)
    """

    def __init__(self, spark: SparkSession, transaction: ExplicitTransaction) -> None:
        self._spark = spark
        self._transaction = transaction

    def __repr__(self) -> str:
        return f"<transaction {self.txn_id}, {self._transaction.transaction.status.value}>"

    @property
    def txn_id(self) -> int:
        """Transaction id, as in SHOW TRANSACTIONS."""
        return self._transaction.txn_id

    @property
    def is_open(self) -> bool:
        """Whether the transaction has not ended and is not known to be aborted."""
        return self._transaction.is_open and not self._transaction.has_ended

    def sql(
        self,
        text: str,
        args: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        dialect: str = "spark",
        **frames: Any,
    ) -> DataFrame:
        """Run a statement in the transaction; see ``acidsql.sql``.

        Raises:
            TransactionStateError: NO_ACTIVE_TRANSACTION, the transaction has ended; TXN_ABORTED.
        """
        with self._acting():
            return api.sql(self._spark, text, args, dialect=dialect, **frames)

    def table(self, name: str) -> DataFrame:
        """Return the rows of a table or view that the transaction sees; see ``acidsql.table``.

        Raises:
            TransactionStateError: NO_ACTIVE_TRANSACTION, the transaction has ended; TXN_ABORTED.
        """
        with self._acting():
            return api.table(self._spark, name)

    def commit(self) -> None:
        """Commit the changes of all statements; if the commit fails, roll them back.

        Raises:
            WriteConflictError: CONCURRENT_WRITE, another transaction committed first and changed
                the same row, or on a Hive Metastore the same partition.
            TransactionStateError: NO_ACTIVE_TRANSACTION, the transaction has ended; TXN_ABORTED.
            MetastoreError: COMMIT_OUTCOME_UNKNOWN.
        """
        with self._acting():
            if AcidSession.end_without_jvm(self._spark):
                raise TransactionStateError(
                    "TXN_ABORTED",
                    f"transaction {self.txn_id} was rolled back, since the JVM of its session has "
                    "ended: start another session, and run its statements again",
                    {"txnId": str(self.txn_id)},
                )
            with api.working(self._spark):
                current().operation = "COMMIT"
                transactions.commit_transaction(self._transaction)

    def rollback(self) -> None:
        """Undo the changes of all statements, even if the JVM of the session has ended.

        Raises:
            TransactionStateError: NO_ACTIVE_TRANSACTION, the transaction has ended.
        """
        with self._acting():
            if AcidSession.end_without_jvm(self._spark):
                return
            with api.working(self._spark):
                current().operation = "ROLLBACK"
                self._transaction.rollback()

    @contextmanager
    def _acting(self) -> Iterator[None]:
        if self._transaction.has_ended:
            raise TransactionStateError(
                "NO_ACTIVE_TRANSACTION",
                f"transaction {self.txn_id} has ended "
                f"({self._transaction.transaction.status.value}): begin another one",
            )
        with acting_for(self._transaction.owner):
            yield

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit, or roll back after an exception; do nothing if the transaction has ended."""
        if self._transaction.has_ended:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()


def transaction(spark: SparkSession, *, read_only: bool = False) -> TransactionHandle:
    """Begin a transaction of several statements, which commits at the end of a ``with`` block.

    All statements see the tables as of the beginning of the transaction, and the changes of its
    earlier statements. Other transactions see its changes only after it commits, and then all of
    them. If the block raises, the transaction is rolled back. If a statement fails, only the
    changes of this statement are rolled back, so a program that catches the error can continue.

    Args:
        spark: the session. Until the transaction ends, it includes all statements that the thread
            runs on the session, also those of ``acidsql.sql`` and of DataFrame writers.
        read_only: whether the transaction only reads, with one snapshot for all its queries.

    Raises:
        TransactionStateError: NOT_ALLOWED_IN_TRANSACTION, the thread already has a transaction.

    >>> with acidsql.transaction(spark) as txn:
    ...     inserted = txn.sql("INSERT INTO pet VALUES (3, 'Kim')")
    ...     updated = txn.sql("UPDATE pet SET name = 'Kimi' WHERE id = 3")
    >>> acidsql.sql(spark, "SELECT * FROM pet WHERE id = 3").collect()
    [Row(id=3, name='Kimi')]
    """
    with api.working(spark) as session:
        current().operation = "START TRANSACTION"
        roll_back_abandoned(session)
        return TransactionHandle(spark, begin(session, read_only=read_only))
