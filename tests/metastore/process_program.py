"""Run in a process of its own: ``process_program.py <metastore file> <task> [<count>]``.

write  opens, allocates and commits <count> transactions; prints "txn id, write id" of each
number reserves three ordinals at a time, <count> times; prints the first of each
take   takes compactions until none is left; prints their ids
hang   writes inside a SQLite transaction, prints "ready" and waits to be killed
hold   opens a transaction with an EXCLUSIVE lock on t and takes a compaction, if there is one;
       prints "ready" and waits to be killed
fork   does the same in front of a child; prints the child's process id and waits to be killed
"""

from __future__ import annotations

import os
import sys
import time

from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import LockRequest, LockType, Operation


def write(store: EmbeddedMetastore, count: int) -> None:
    for _ in range(count):
        txn_id = store.open_txn("ann", "host")
        print(txn_id, store.allocate_write_id(txn_id, "default", "t"))
        store.commit_txn(txn_id)


def number(store: EmbeddedMetastore, count: int) -> None:
    for _ in range(count):
        print(store.reserve_ordinals("default", "t", 3))


def take(store: EmbeddedMetastore) -> None:
    while (entry := store.next_compaction("worker")) is not None:
        print(entry.compaction_id)


def hang(store: EmbeddedMetastore) -> None:
    store.open_txn("ann", "host")
    with store.database.write() as connection:
        connection.execute("UPDATE tables SET next_write_id = 1000")
        connection.execute("INSERT INTO forgotten_aborts VALUES (1)")
        print("ready", flush=True)
        time.sleep(600)


def hold(store: EmbeddedMetastore) -> None:
    txn_id = store.open_txn("ann", "host")
    store.allocate_write_id(txn_id, "default", "t")
    request = LockRequest(
        database="default",
        table="t",
        partition=None,
        type=LockType.EXCLUSIVE,
        operation=Operation.SELECT,
    )
    store.lock(txn_id, [request])
    store.next_compaction("worker")


def wait(said: object) -> None:
    print(said, flush=True)
    time.sleep(600)


def fork(store: EmbeddedMetastore) -> None:
    hold(store)
    child = os.fork()
    if child == 0:
        time.sleep(600)
    wait(child)


def main() -> None:
    path, task, *arguments = sys.argv[1:]
    store = EmbeddedMetastore(path)
    if task == "write":
        write(store, int(arguments[0]))
    elif task == "number":
        number(store, int(arguments[0]))
    elif task == "take":
        take(store)
    elif task == "hold":
        hold(store)
        wait("ready")
    elif task == "fork":
        fork(store)
    else:
        hang(store)
    store.close()


main()
