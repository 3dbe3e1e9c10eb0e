"""Named steps of statements, at which a fault can be made to strike."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from acidsql.metastore import file_moves
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.session.heartbeat import Heartbeater
from acidsql.session.leases import Leases
from acidsql.storage.filesystem import FileSystem
from acidsql.transactions import write_transaction
from acidsql.transactions.transaction import Transaction
from acidsql.transactions.write_transaction import TableWrite

_OWNERS: dict[str, tuple[Any, str]] = {
    "open": (EmbeddedMetastore, "open_txn"),
    "keep alive": (Heartbeater, "add"),
    "allocate": (EmbeddedMetastore, "allocate_write_id"),
    "lock": (EmbeddedMetastore, "lock"),
    "snapshot": (EmbeddedMetastore, "valid_txns"),
    "lease": (Leases, "begin"),
    "enqueue": (EmbeddedMetastore, "request_compaction"),
    "take": (EmbeddedMetastore, "next_compaction"),
    "start compaction": (EmbeddedMetastore, "compaction_started"),
    "end compaction": (EmbeddedMetastore, "compaction_done"),
    "ask if open": (EmbeddedMetastore, "require_open"),
    "rename": (FileSystem, "rename"),
    "sync": (write_transaction, "sync_all"),
    "journal": (EmbeddedMetastore, "prepare_commit"),
    "commit": (EmbeddedMetastore, "commit_txn"),
    "move files": (file_moves, "perform"),
    "roll back": (Transaction, "roll_back"),
    "abort": (EmbeddedMetastore, "abort_txn"),
    "undo": (TableWrite, "undo"),
    "delete": (FileSystem, "delete"),
    "let die": (Heartbeater, "remove"),
}
NAMES = tuple(_OWNERS)
_FILE_METHODS = (
    "append", "assemble", "copy", "delete_if_empty", "exists", "is_directory", "link", "list_all",
    "make_directory", "move", "open", "read", "size", "version", "write",
)  # fmt: skip
FILES = (*_FILE_METHODS, "rename", "delete", "sync", "move files")
"""Operations on files."""
ENDING = ("ask if open", "rename", "sync", "journal", "commit", "move files")
"""Steps around the commit."""
BEGINNING = ("open", "keep alive", "allocate", "lock", "snapshot")
"""Steps with which a statement begins."""
_COMPACTING = (
    "enqueue", "take", "open", "keep alive", "lock", "snapshot", "start compaction", "rename",
    "end compaction", "commit", "let die",
)  # fmt: skip
UNDOING = ("roll back", "abort", "undo", "delete", "let die")
"""Steps that follow an error."""


@dataclass(slots=True, kw_only=True)
class Arm:
    """Action to take at a step, once.

    Attributes:
        step: name of the step.
        before: whether it is taken before the step, else after.
        number: of the step's occurrence in the statement, 0 for the first.
        act: the action.
        struck: whether it was taken.
    """

    step: str
    before: bool
    number: int
    act: Callable[[], object]
    struck: bool = False

    def strike(self) -> None:
        """Take the action now."""
        self.struck = True
        self.act()


class Steps:
    """Steps of this process; they are watched from its creation on.

    Attributes:
        arms: actions that wait for their step.
    """

    def __init__(self) -> None:
        self.arms: list[Arm] = []
        self._lock = threading.Lock()
        files = {name: (FileSystem, name) for name in _FILE_METHODS}
        for name, (owner, attribute) in (_OWNERS | files).items():
            setattr(owner, attribute, self._watched(name, getattr(owner, attribute)))

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def watched(*args: Any, **named: Any) -> Any:
            self._pass(name, before=True)
            answer = function(*args, **named)
            self._pass(name, before=False)
            return answer

        return watched

    def _pass(self, name: str, *, before: bool) -> None:
        due = []
        with self._lock:
            for arm in self.arms:
                if arm.step == name and arm.before is before and not arm.struck:
                    arm.number -= 1
                    if arm.number < 0:
                        arm.struck = True  # so that no other thread takes it
                        due.append(arm)
        for arm in due:
            arm.act()


def of_statement(kind: str) -> tuple[str, ...]:
    """Return the steps of a kind of statement, those around the commit twice."""
    if kind == "COMPACT":
        return _COMPACTING
    moves = kind in ("CTAS", "DROP", "DROP PARTITION")
    ending = ("journal", "commit", "move files") if moves else ENDING[:-1]
    leases = ("lease",) if kind == "CTAS" else ()
    return (*BEGINNING, *leases, *ending, *ending, "let die")
