"""How a transaction ends, whatever the metastore answers: no Spark, a real embedded metastore."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from acidsql.errors import (
    AcidSqlError,
    MetastoreError,
    TransactionStateError,
    WriteConflictError,
)
from acidsql.metastore.comparison import Compared
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import TxnState, TxnType
from acidsql.session.acid_session import AcidSession
from acidsql.session.heartbeat import Heartbeater
from acidsql.transactions.transaction import Status, Transaction, transaction

if TYPE_CHECKING:
    from acidsql.session.leases import Leases

GONE = MetastoreError("METASTORE_UNAVAILABLE", "the connection was lost")


class Unreliable(EmbeddedMetastore):
    """A metastore that raises before or after a call."""

    before_commit: BaseException | None = None
    after_commit: BaseException | None = None
    before_abort: BaseException | None = None

    def commit_txn(self, txn_id: int, compared: Compared | None = None) -> bool:
        if self.before_commit:
            raise self.before_commit
        done = super().commit_txn(txn_id, compared)
        if self.after_commit:
            raise self.after_commit
        return done

    def abort_txn(self, txn_id: int) -> None:
        if self.before_abort:
            raise self.before_abort
        super().abort_txn(txn_id)


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[Unreliable]:
    store = Unreliable(str(tmp_path / "metastore.sqlite"))
    yield store
    store.close()


@pytest.fixture
def session(metastore: Unreliable) -> Iterator[AcidSession]:
    """What a transaction needs of a session."""
    heartbeater = Heartbeater(metastore)
    made = SimpleNamespace(
        metastore=metastore,
        heartbeater=heartbeater,
        user="ann",
        host="host",
        has_written=False,
        leases=SimpleNamespace(txn_ids=()),
    )
    yield cast("AcidSession", made)
    heartbeater.stop()


def state_of(metastore: EmbeddedMetastore, txn_id: int) -> TxnState:
    states = {txn.txn_id: txn.state for txn in metastore.open_txns()}
    return states.get(txn_id, TxnState.COMMITTED)


def failing(error: BaseException) -> Callable[[], object]:
    """A function that raises."""

    def fail() -> None:
        raise error

    return fail


def ended(
    session: AcidSession,
    *,
    then: Callable[[], object] = lambda: None,
    revert: Callable[[], object] = lambda: None,
    aborts_in_doubt: bool = False,
) -> tuple[Transaction, list[str]]:
    """A transaction that wrote "first" and "second", and what of it was left.

    Args:
        then: what it does before its commit.
        revert: taken back before anything else.
    """
    left: list[str] = []
    made: list[Transaction] = []
    with (
        suppress(AcidSqlError, ValueError, KeyboardInterrupt),
        transaction(session, aborts_in_doubt=aborts_in_doubt) as opened,
    ):
        made.append(opened)
        for name in ("first", "second"):
            left.append(name)
            opened.reverts.append(partial(left.remove, name))
        opened.reverts.append(revert)
        then()
        opened.commit()
    assert session.heartbeater.beat()
    assert not session.heartbeater.lost()
    return made[0], left


def test_a_commit_keeps_what_was_done(session: AcidSession, metastore: Unreliable) -> None:
    opened, left = ended(session)
    assert (opened.status, left) == (Status.COMMITTED, ["first", "second"])
    assert state_of(metastore, opened.txn_id) is TxnState.COMMITTED


@pytest.mark.parametrize("error", [ValueError(), GONE, KeyboardInterrupt()], ids=repr)
def test_an_error_before_the_commit_takes_all_back(
    session: AcidSession, metastore: Unreliable, error: BaseException
) -> None:
    opened, left = ended(session, then=failing(error))
    assert (opened.status, left) == (Status.ROLLED_BACK, [])
    assert state_of(metastore, opened.txn_id) is TxnState.ABORTED


def test_a_block_that_does_not_commit_is_rolled_back(
    session: AcidSession, metastore: Unreliable
) -> None:
    with transaction(session) as opened:
        pass
    assert opened.status is Status.ROLLED_BACK
    assert state_of(metastore, opened.txn_id) is TxnState.ABORTED


def test_what_was_done_last_is_taken_back_first(session: AcidSession) -> None:
    order: list[int] = []
    with transaction(session) as opened:
        opened.reverts += [partial(order.append, i) for i in range(3)]
    assert order == [2, 1, 0]


@pytest.mark.parametrize("aborts_in_doubt", [False, True])
def test_a_lost_conflict_takes_all_back(
    session: AcidSession, metastore: Unreliable, aborts_in_doubt: bool
) -> None:
    metastore.before_commit = WriteConflictError("CONCURRENT_WRITE", "another one was first")
    metastore.before_abort = GONE
    opened, left = ended(session, aborts_in_doubt=aborts_in_doubt)
    assert (opened.status, left) == (Status.ROLLED_BACK, [])


@pytest.mark.parametrize("when", ["before_commit", "after_commit"])
def test_an_unanswered_commit_of_a_statement_stays(
    session: AcidSession, metastore: Unreliable, when: str
) -> None:
    setattr(metastore, when, GONE)
    opened, left = ended(session)
    assert (opened.status, left) == (Status.IN_DOUBT, ["first", "second"])
    wanted = TxnState.OPEN if when == "before_commit" else TxnState.COMMITTED
    assert state_of(metastore, opened.txn_id) is wanted


@pytest.mark.parametrize("error", [GONE, KeyboardInterrupt()], ids=repr)
def test_an_abort_tells_whether_an_unanswered_commit_was_made(
    session: AcidSession, metastore: Unreliable, error: BaseException
) -> None:
    metastore.after_commit = error
    opened, left = ended(session, aborts_in_doubt=True)
    assert (opened.status, left) == (Status.IN_DOUBT, ["first", "second"])
    metastore.after_commit, metastore.before_commit = None, error
    opened, left = ended(session, aborts_in_doubt=True)
    assert (opened.status, left) == (Status.ROLLED_BACK, [])
    assert state_of(metastore, opened.txn_id) is TxnState.ABORTED


def test_nothing_is_taken_back_if_neither_commit_nor_abort_is_answered(
    session: AcidSession, metastore: Unreliable
) -> None:
    metastore.before_commit = metastore.before_abort = GONE
    opened, left = ended(session, aborts_in_doubt=True)
    assert (opened.status, left) == (Status.IN_DOUBT, ["first", "second"])


def test_an_abort_that_fails_before_a_commit_was_asked_for_does_not_matter(
    session: AcidSession, metastore: Unreliable
) -> None:
    metastore.before_abort = GONE
    opened, left = ended(session, then=failing(ValueError()))
    assert (opened.status, left) == (Status.ROLLED_BACK, [])
    assert state_of(metastore, opened.txn_id) is TxnState.OPEN  # until its time-out


def test_what_could_not_be_taken_back_is_told(
    session: AcidSession, caplog: pytest.LogCaptureFixture
) -> None:
    opened, left = ended(session, then=failing(ValueError()), revert=failing(OSError("no rename")))
    assert (opened.status, left) == (Status.ABORTED, ["first", "second"])
    assert "could not undo its changes" in caplog.text


@pytest.mark.parametrize("name", ["open_txn", "heartbeat"])
def test_an_interrupt_at_its_beginning_leaves_no_transaction_open(
    session: AcidSession, metastore: Unreliable, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The second step is where heartbeats begin."""
    owner, attribute = (metastore, name) if name == "open_txn" else (session.heartbeater, "add")
    original = getattr(owner, attribute)

    def interrupted(*arguments: object) -> object:
        answer = original(*arguments)
        signal.raise_signal(signal.SIGINT)
        return answer

    monkeypatch.setattr(owner, attribute, interrupted)
    with pytest.raises(KeyboardInterrupt), transaction(session):
        pytest.fail("it goes on")
    assert state_of(metastore, 1) is TxnState.ABORTED
    assert session.heartbeater.beat()
    assert not session.heartbeater.lost()


def test_a_second_interrupt_waits_for_the_roll_back(
    session: AcidSession, metastore: Unreliable
) -> None:
    opened, left = ended(
        session,
        then=partial(signal.raise_signal, signal.SIGINT),
        revert=partial(signal.raise_signal, signal.SIGINT),
    )
    assert (opened.status, left) == (Status.ROLLED_BACK, [])
    assert state_of(metastore, opened.txn_id) is TxnState.ABORTED


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_lost_lease_explains_why_a_file_is_missing(
    session: AcidSession, metastore: Unreliable, is_lost: bool
) -> None:
    """The JVM was suspended while a statement read under a lease, which timed out."""
    lease = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    session.leases = cast("Leases", SimpleNamespace(txn_ids=(lease,)))
    if is_lost:
        metastore.abort_txns([lease])
    expected = TransactionStateError if is_lost else FileNotFoundError
    with pytest.raises(expected), transaction(session):
        raise FileNotFoundError("bucket_00000")
