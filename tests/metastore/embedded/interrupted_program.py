"""Run in a process of its own: ``interrupted_program.py <metastore file> <count>``.

Opens and commits transactions while Ctrl-C is pressed ``count`` times, at random moments. After
each, the file must be free for others, and its own connection and lock for this process.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
import threading
import time

from acidsql.metastore.embedded.store import EmbeddedMetastore


def main() -> None:
    path, count = sys.argv[1], int(sys.argv[2])
    store = EmbeddedMetastore(path)
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    ready, done = threading.Event(), threading.Event()
    chance = random.Random(14)

    def press() -> None:
        while not done.is_set():
            if ready.wait(1):
                ready.clear()
                time.sleep(chance.random() * 0.002)
                os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    interrupts = 0
    while interrupts < count:
        try:
            ready.set()
            while True:
                store.commit_txn(store.open_txn("ann", "host"))
        except KeyboardInterrupt:
            interrupts += 1
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
    done.set()
    beating = threading.Thread(target=store.heartbeat, args=([1],), daemon=True)
    beating.start()
    beating.join(30)
    if beating.is_alive():
        sys.exit("the lock of this process was left behind")
    print(interrupts, "interrupts")


main()
