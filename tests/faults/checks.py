"""What statements leave behind that they should not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

# Compactions in these states are at work, or wait for a worker.
_UNFINISHED = ("initiated", "working")
READER = "read transaction"
_OWNER = "_acidsql_owner"
_HIDDEN = "_acidsql_"


def leftovers(metastore: Path, warehouse: Path) -> list[str]:
    """Return what is left of statements that have ended: open transactions, locks, entries of the
    journal, compactions, hidden and invisible directories.
    """
    connection = sqlite3.connect(metastore)
    try:
        left = [
            *(f"transaction {t} is open" for (t,) in connection.execute(_OPEN)),
            *(f"{READER} {t} is open" for (t,) in connection.execute(_READING)),
            *(f"transaction {t} has a lock" for (t,) in connection.execute(_LOCKED)),
            *(f"the journal has {o}" for (o,) in connection.execute(_JOURNAL)),
            *(f"compaction {c} is {s}" for c, s in connection.execute(_COMPACTIONS, _UNFINISHED)),
            *(f"{name} is staged" for (name,) in connection.execute(_STAGED)),
        ]
        aborted = {(place, int(w)) for place, w in connection.execute(_ABORTED)}
    finally:
        connection.close()
    for path in sorted(warehouse.rglob("*")):
        if path.name.startswith(_HIDDEN) and path.name != _OWNER:
            left.append(f"{path.relative_to(warehouse)} is there")
        elif path.name.startswith(("delta_", "delete_delta_", "base_")):
            # No compaction has an aborted write id only at the end of its name.
            first, last = _write_ids(path.name)
            table = path.relative_to(warehouse).parts[0]
            if first == last and (table, last) in aborted:
                left.append(f"{path.relative_to(warehouse)} of an aborted transaction is there")
    return left


_READING = "SELECT txn_id FROM txns WHERE state = 'open' AND type = 'read_only'"
_OPEN = "SELECT txn_id FROM txns WHERE state = 'open' AND type <> 'read_only'"
_LOCKED = "SELECT txn_id FROM locks"
_JOURNAL = "SELECT operation FROM file_operations"
_COMPACTIONS = "SELECT compaction_id, state FROM compactions WHERE state IN (?, ?)"
_STAGED = "SELECT table_name FROM tables WHERE created_by_txn IS NOT NULL"
_ABORTED = (
    "SELECT table_name, write_id FROM write_ids JOIN tables USING (table_id)"
    " WHERE outcome = 'aborted'"
)


def open_transactions(metastore: Path) -> int:
    """Return the number of open transactions that are no readers."""
    connection = sqlite3.connect(metastore)
    try:
        return len(connection.execute(_OPEN).fetchall())
    finally:
        connection.close()


def _write_ids(name: str) -> tuple[int, int]:
    parts = name.removeprefix("delete_").split("_")
    first = int(parts[1])
    if parts[0] == "base":
        return first, first
    return first, int(parts[2])
