"""Client of the suite ``ingest``: ``python -m tpcds_bench.ingest_client``, without Spark.

Arguments: metastore, table, form of the records (``dicts`` or ``Arrow``), whether commits wait for
the disk (``yes`` or ``no``), rows of a transaction, transactions of a round, transactions of a
batch, rounds. It prints the seconds of each round, then the peak resident size of the process in
kB, each on a separate line.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path

import pyarrow as pa

from acidsql.streaming import StreamingConnection, connect

CHUNK = 10_000


def rows(count: int) -> Iterator[dict[str, object]]:
    """Yield rows of the table."""
    for number in range(count):
        yield {
            "id": number,
            "name": f"name {number % 1000}",
            "amount": Decimal(number % 10_000) / 100,
            "day": dt.date(2024, 1, 1 + number % 28),
        }


def main(arguments: list[str]) -> None:
    """Write rows in transactions; see the module's docstring."""
    metastore, table, form, waits, *numbers = arguments
    size, transactions, batch, rounds = map(int, numbers)
    with connect(
        metastore=metastore,
        table=table,
        transaction_batch_size=batch,
        synchronous=waits == "yes",
    ) as connection:
        for _ in range(rounds):
            print(_round(connection, form, size, transactions))
    status = Path("/proc/self/status").read_text()
    print(status.partition("VmHWM:")[2].split()[0])


def _round(connection: StreamingConnection, form: str, size: int, transactions: int) -> float:
    """Return the seconds of some transactions, without the time to create the records."""
    chunk = list(rows(min(size, CHUNK)))
    batch = pa.Table.from_pylist(chunk)
    begun = time.perf_counter()
    for _ in range(transactions):
        with connection.transaction():
            for start in range(0, size, CHUNK):
                count = min(CHUNK, size - start)
                if form == "Arrow":
                    connection.write(batch.slice(0, count))
                else:
                    connection.write_all(islice(chunk, count))
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(sys.argv[1:])
