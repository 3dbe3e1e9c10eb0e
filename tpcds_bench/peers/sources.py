"""Source rows of all engines, and the keys of the rows that are changed.

DuckDB chooses them once, so that every engine does exactly the same work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpcds_bench.data import Column, Dataset, duckdb_with

APPENDED = 10_000
SCATTERED = 360
_SMALL_TICKETS = 2_400  # with a dozen rows each: all tickets at scale factor 0.01
# Higher than any ticket number in the data.
_NEW_TICKETS, _MERGED_TICKETS = 10**9, 2 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Keys of the rows that are changed and read.

    Args:
        updated: ticket and item of a row to update.
        deleted: ticket and item of a row to delete.
        small_updated: ticket and item of a row of the small table to update.
        small_deleted: ticket and item of a row of the small table to delete.
        scattered: tickets, each with one row whose item number modulo 12 is 7.
        tickets: first and last ticket of a range with a twentieth of the tickets.
        days: first and last of 30 days.
        customer: customer of a row.
    """

    updated: tuple[int, int]
    deleted: tuple[int, int]
    small_updated: tuple[int, int]
    small_deleted: tuple[int, int]
    scattered: tuple[int, ...]
    tickets: tuple[int, int]
    days: tuple[int, int]
    customer: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Data of a scale factor for a worker.

    Args:
        columns: columns of store_sales.
        views: Parquet file of each temporary view.
        keys: keys of the rows that are changed and read.
    """

    columns: tuple[Column, ...]
    views: Mapping[str, str]
    keys: Keys


def make_sources(data: Dataset, directory: Path) -> Sources:
    """Pick rows of a dataset.

    Args:
        data: source data.
        directory: new directory for the Parquet files of the views; it must not exist.
    """
    directory.mkdir()
    columns = tuple(data.columns["store_sales"])
    picked = {
        "appended_rows": (
            f"SELECT * REPLACE (ss_ticket_number + {_NEW_TICKETS} AS ss_ticket_number)"
            f" FROM store_sales ORDER BY ss_ticket_number, ss_item_sk LIMIT {APPENDED}"
        ),
        # One in 60 tickets, with other quantities; every third row has a new ticket number.
        "merged_rows": (
            "SELECT * REPLACE (ss_ticket_number + IF(ss_item_sk % 3 = 0, "
            f"{_MERGED_TICKETS}, 0) AS ss_ticket_number, ss_quantity + 1 AS ss_quantity)"
            " FROM store_sales WHERE ss_ticket_number % 60 = 17"
        ),
        "small_rows": f"SELECT * FROM store_sales WHERE ss_ticket_number <= {_SMALL_TICKETS}",
    }
    with duckdb_with(data, ["store_sales"]) as duck:
        for name, query in picked.items():
            duck.execute(f"COPY ({query}) TO '{directory / name}.parquet' (FORMAT parquet)")
        keys = _keys(duck)
    return Sources(
        columns=columns,
        views={
            "all_rows": str(data.parquet("store_sales").resolve()),
            **{name: str((directory / name).resolve()) + ".parquet" for name in picked},
        },
        keys=keys,
    )


def sources_of(message: Mapping[str, Any]) -> Sources:
    """Return the sources in a message that :func:`dataclasses.asdict` created."""
    keys: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in message["keys"].items()
    }
    return Sources(
        columns=tuple(Column(**column) for column in message["columns"]),
        views=message["views"],
        keys=Keys(**keys),
    )


def _keys(duck: Any) -> Keys:
    tickets, first_day = duck.execute(
        "SELECT max(ss_ticket_number), min(ss_sold_date_sk) FROM store_sales"
    ).fetchone()
    small = min(tickets, _SMALL_TICKETS)
    rows = tuple(
        _row_of(duck, ticket) for ticket in (tickets // 3, tickets // 2, small // 3, small // 2)
    )
    candidates = [
        ticket
        for (ticket,) in duck.execute(
            "SELECT ss_ticket_number FROM store_sales WHERE ss_item_sk % 12 = 7"
            " GROUP BY 1 HAVING count(*) = 1 ORDER BY 1"
        ).fetchall()
        if ticket not in {ticket for ticket, _ in rows}
    ]
    return Keys(
        updated=rows[0],
        deleted=rows[1],
        small_updated=rows[2],
        small_deleted=rows[3],
        scattered=tuple(
            candidates[number * len(candidates) // SCATTERED] for number in range(SCATTERED)
        ),
        tickets=(tickets * 3 // 5, tickets * 13 // 20 - 1),
        days=(first_day + 600, first_day + 629),
        customer=_customer_of(duck, rows[0]),
    )


def _row_of(duck: Any, ticket: int) -> tuple[int, int]:
    """Return ticket and item of a row."""
    row: tuple[int, int] = duck.execute(
        "SELECT ss_ticket_number, ss_item_sk FROM store_sales"
        f" WHERE ss_ticket_number >= {ticket} ORDER BY 1, 2 LIMIT 1"
    ).fetchone()
    return row


def _customer_of(duck: Any, row: tuple[int, int]) -> int:
    """Return a customer with a ticket number not below that of a row."""
    customer: tuple[int] = duck.execute(
        "SELECT ss_customer_sk FROM store_sales"
        f" WHERE ss_ticket_number >= {row[0]} AND ss_customer_sk IS NOT NULL"
        " ORDER BY ss_ticket_number, ss_item_sk LIMIT 1"
    ).fetchone()
    return customer[0]
