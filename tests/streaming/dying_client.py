"""Streaming client that is killed.

``python -m tests.streaming.dying_client METASTORE TABLE [WEB]``: WEB is the address of WebHDFS, if
the table is there.

It commits the rows 1 and 2 of a table ``(id INT)``, each in a transaction of a batch of five. It
makes the row 3 a part of the file without a commit, and prints the ids of the transactions that are
open then. In HDFS it then sends a part of what it appends to the file, and is killed within.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

from hdfs import InsecureClient

from acidsql.streaming import connect


def main(metastore: str, table: str, web: str | None = None) -> None:
    """Write, and wait for the end."""
    storage = None if web is None else InsecureClient(web)
    with connect(
        metastore=metastore,
        table=table,
        transaction_batch_size=5,
        synchronous=False,
        storage=storage,
    ) as connection:
        for number in (1, 2):
            with connection.transaction():
                connection.write((number,))
        connection.begin()
        connection.write((3,))
        connection._buffer.convert_pending()
        connection._spill()
        batch = connection._batch
        assert batch is not None
        batch.flush()
        left = " ".join(str(member.txn_id) for member in batch.members[batch.used - 1 :])
        if storage is not None:
            (file,) = batch.files.values()
            path = f"/{file._path.split('/', 3)[3]}"
            storage.write(path, data=_half(left), append=True)
        print(left, flush=True)
        threading.Event().wait()


def _half(left: str) -> Iterator[bytes]:
    """Yield what is sent of a stripe, and wait for the end."""
    yield b"half a stripe" * 1000
    print(left, flush=True)
    threading.Event().wait()


def killed(metastore: str, table: str, *web: str) -> tuple[int, ...]:
    """Run the client, kill it, and return the ids of the transactions that it leaves open."""
    command = [sys.executable, "-m", "tests.streaming.dying_client", metastore, table, *web]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.kill()
    return tuple(map(int, line.split()))


if __name__ == "__main__":
    main(*sys.argv[1:])
