"""What statements without Spark have in common: their process, kinds and staged rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from acidsql.metastore.model import (
    Table,
)
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.finalize import FinishedDirectory
from acidsql.transactions.write_transaction import (
    TableWrite,
)
from tests.faults.small_world import (
    Rows,
    State,
    TableName,
    Values,
    World,
)

T: TableName = ("default", "t")
P: TableName = ("default", "p")
A: TableName = ("d", "a")
NEW: TableName = ("default", "new")
EMPTY: Rows = frozenset()
RENAMED: TableName = ("d", "renamed")


@dataclass(frozen=True, slots=True)
class Actor:
    """Process that runs a statement.

    Attributes:
        tag: begins the names of its new rows.
        note: is called with what a statement is about to commit (see ``Change``).
    """

    world: World
    session: AcidSession
    tag: str
    note: Callable[[Change], None] = lambda _: None

    def table(self, name: TableName) -> Table:
        """Look a table up."""
        return self.session.metastore.table(*name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Change of the rows of a table that a transaction is about to commit."""

    table: TableName
    write_id: int
    added: Mapping[Values, Sequence[str]]
    deleted: Sequence[str] = ()
    replaced: Sequence[Values] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Kind of statement.

    Attributes:
        run: runs one.
        effect: returns the state after it, given the state before and the tag of the actor.
        in_transaction: whether a transaction that timed out before its commit cannot do it.
    """

    name: str
    run: Callable[[Actor], object]
    effect: Callable[[State, str], State] = lambda state, _: state
    in_transaction: bool = True


def kind_of(
    name: str,
    run: Callable[..., object],
    effect: Callable[..., State] | None = None,
    *arguments: object,
    in_transaction: bool = True,
    **named: object,
) -> Kind:
    """Return the kind of a statement whose run and effect take more arguments."""
    return Kind(
        name=name,
        run=lambda actor: run(actor, *arguments, **named),
        effect=(lambda s, t: effect(s, t, *arguments, **named)) if effect else lambda s, _: s,
        in_transaction=in_transaction,
    )


def stage(
    write: TableWrite, values: Values, rows: Iterable[str], *, deletes: bool = False
) -> FinishedDirectory:
    """Write rows, or deletions, for a partition in staging."""
    path = child(write.staging.path, f"{'deletes' if deletes else 'rows'}_{'_'.join(values)}")
    files = write.session.files
    files.write(child(path, "bucket_00000"), "\n".join(sorted(rows)).encode())
    return FinishedDirectory(
        path=path, values=values, deletes=deletes, statement_id=0, events=1, files=1, size=1
    )
