"""Run in a process of its own: ``process_program.py <metastore file> <task> [<count>]``.

write  opens, allocates and commits <count> transactions; prints "txn id, write id" of each
take   takes compactions until none is left; prints their ids
hang   writes inside a SQLite transaction, prints "ready" and waits to be killed
"""

from __future__ import annotations

import sys
import time

from acidsql.metastore.embedded.store import EmbeddedMetastore


def write(store: EmbeddedMetastore, count: int) -> None:
    for _ in range(count):
        txn_id = store.open_txn("ann", "host")
        print(txn_id, store.allocate_write_id(txn_id, "default", "t"))
        store.commit_txn(txn_id)


def take(store: EmbeddedMetastore) -> None:
    while (entry := store.next_compaction("worker")) is not None:
        print(entry.compaction_id)


def hang(store: EmbeddedMetastore) -> None:
    store.open_txn("ann", "host")
    with store._database.write() as connection:
        connection.execute("UPDATE tables SET next_write_id = 1000")
        connection.execute("INSERT INTO forgotten_aborts VALUES (1)")
        print("ready", flush=True)
        time.sleep(600)


def main() -> None:
    path, task, *arguments = sys.argv[1:]
    store = EmbeddedMetastore(path)
    if task == "write":
        write(store, int(arguments[0]))
    elif task == "take":
        take(store)
    else:
        hang(store)
    store.close()


main()
