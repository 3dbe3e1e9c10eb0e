"""Streaming client that commits transactions until it is killed.

``python -m tests.product.streaming_program METASTORE TABLE``: each transaction has two rows; the
number of commits is printed after each.
"""

from __future__ import annotations

import itertools
import sys

import acidsql.streaming


def main(metastore: str, table: str) -> None:
    """Write batches of four transactions."""
    connection = acidsql.streaming.connect(
        metastore=metastore, table=table, transaction_batch_size=4
    )
    for number in itertools.count():
        connection.begin()
        connection.write_all([(number, "a"), (number, "b")])
        connection.commit()
        print(number + 1, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
