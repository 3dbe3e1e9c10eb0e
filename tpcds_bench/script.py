"""Maintenance script: changes of the tables, step by step, in SQL that both engines accept.

Rows are chosen by arithmetic on keys, so that a step changes the same rows in both engines. Only
COMPACT has no counterpart in DuckDB; it must not change the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from tpcds_bench.data import Column

TABLES = (
    "store_sales",
    "store_returns",
    "date_dim",
    "time_dim",
    "item",
    "customer",
    "customer_address",
    "customer_demographics",
    "household_demographics",
    "store",
    "promotion",
)
"""``store_sales``, the returns that the script subtracts, and the dimensions."""

PARTITIONED = "store_sales_by_store"
"""A second copy of ``store_sales``, partitioned by :data:`PARTITION_COLUMN`."""

PARTITION_COLUMN = "ss_store_sk"

_Schema = Mapping[str, Sequence[Column]]

SALES = ("store_sales", PARTITIONED)
"""Both copies of ``store_sales``; each change applies to both copies."""


class Compaction(StrEnum):
    """Kinds of compaction."""

    MINOR = "minor"
    MAJOR = "major"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Compact every partition of a table.

    Args:
        table: table name.
        kind: minor or major.
    """

    table: str
    kind: Compaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Statements after which all tables are compared.

    Args:
        name: description of the step in the report.
        actions: SQL texts for both engines, or compactions.
    """

    name: str
    actions: Sequence[str | Compact]


def script(columns: _Schema) -> tuple[Step, ...]:
    """Return the steps in order.

    Args:
        columns: columns of each table in :data:`TABLES` and of :data:`PARTITIONED`, in order.
    """
    return (
        Step(
            name="INSERT SELECT new sales",
            actions=_on_sales(partial(_insert, remainder=5, shift=10_000_000), columns),
        ),
        Step(name="INSERT VALUES", actions=(_INSERT_VALUES,)),
        Step(name="UPDATE 1 %", actions=_on_sales(partial(_update, remainder=7), columns)),
        Step(name="UPDATE by subquery", actions=_on_sales(_update_by_category, columns)),
        Step(name="UPDATE the partition column", actions=_on_sales(_move_store, columns)),
        Step(name="UPDATE a dimension", actions=(_UPDATE_ITEM,)),
        Step(name="DELETE 1 %", actions=_on_sales(partial(_delete, remainder=42), columns)),
        Step(
            name="MERGE, all branches",
            actions=_on_sales(partial(_merge, shift=20_000_000), columns),
        ),
        Step(name="MERGE SET *, INSERT *", actions=(_merge_customer(columns["customer"]),)),
        Step(name="COMPACT 'minor'", actions=_compact(Compaction.MINOR)),
        Step(
            name="INSERT after minor",
            actions=_on_sales(partial(_insert, remainder=6, shift=30_000_000), columns),
        ),
        Step(name="UPDATE changed rows again", actions=_on_sales(_update_again, columns)),
        Step(name="DELETE changed rows", actions=_on_sales(_delete_changed, columns)),
        Step(name="MERGE the returns", actions=_on_sales(_merge_returns, columns)),
        Step(name="COMPACT 'major'", actions=_compact(Compaction.MAJOR)),
        Step(
            name="UPDATE 1 % after major",
            actions=_on_sales(partial(_update, remainder=13), columns),
        ),
        Step(
            name="DELETE 1 % after major",
            actions=_on_sales(partial(_delete, remainder=58), columns),
        ),
    )


def partitioned_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns in the order of the partitioned copy, with the partition column last."""
    return tuple(sorted(columns, key=lambda column: column.name == PARTITION_COLUMN))


_INSERT_VALUES = """\
INSERT INTO promotion (p_promo_sk, p_promo_id, p_promo_name, p_cost, p_channel_tv) VALUES
  (900001, 'AAAAAAAAACID0001', 'née ''spring''', 1000.50, 'Y'),
  (900002, 'AAAAAAAAACID0002', NULL, -0.01, 'N'),
  (900003, 'AAAAAAAAACID0003', '', NULL, NULL)"""

_UPDATE_ITEM = """\
UPDATE item SET
  i_rec_end_date = CAST('2003-12-31' AS DATE),
  i_current_price = CAST(i_current_price * 1.05 AS DECIMAL(7,2)),
  i_item_desc = i_category || ': ' || i_item_desc
WHERE i_rec_end_date IS NULL AND i_item_sk % 10 = 4"""


def _on_sales(make: Callable[[str, Sequence[Column]], str], columns: _Schema) -> tuple[str, ...]:
    return tuple(make(table, columns[table]) for table in SALES)


def _compact(kind: Compaction) -> tuple[Compact, ...]:
    return tuple(Compact(table=table, kind=kind) for table in (*SALES, "item", "customer"))


def _insert(table: str, columns: Sequence[Column], *, remainder: int, shift: int) -> str:
    """Insert some tickets again: only those of weekdays, a week later, under new numbers."""
    changed = {
        "ss_ticket_number": f"ss_ticket_number + {shift}",
        "ss_sold_date_sk": "d_date_sk + 7",
    }
    return f"""\
INSERT INTO {table} ({_names(columns)})
SELECT {", ".join(changed.get(column.name, column.name) for column in columns)}
FROM {table} JOIN date_dim ON ss_sold_date_sk = d_date_sk
WHERE ss_ticket_number % 70 = {remainder} AND d_dow BETWEEN 1 AND 5"""


def _update(table: str, _: Sequence[Column], *, remainder: int) -> str:
    return f"""\
UPDATE {table} SET
  ss_quantity = ss_quantity + 1,
  ss_net_paid = CAST(ss_net_paid * 0.9 AS DECIMAL(7,2)),
  ss_promo_sk = NULL
WHERE ss_ticket_number % 100 = {remainder}"""


def _update_by_category(table: str, _: Sequence[Column]) -> str:
    return f"""\
UPDATE {table} SET ss_coupon_amt = 0, ss_net_profit = ss_net_paid - ss_wholesale_cost
WHERE ss_item_sk IN (SELECT i_item_sk FROM item WHERE i_category = 'Music')
  AND ss_sold_date_sk > (SELECT max(d_date_sk) FROM date_dim WHERE d_year = 2001)
  AND ss_quantity > 80"""


def _move_store(table: str, _: Sequence[Column]) -> str:
    """Move rows to the NULL partition, to a new partition, and from NULL to another partition."""
    return f"""\
UPDATE {table} SET
  ss_store_sk = CASE ss_item_sk % 3
    WHEN 0 THEN NULL WHEN 1 THEN 77 ELSE coalesce(ss_store_sk, 1) END
WHERE ss_ticket_number % 200 = 11"""


def _update_again(table: str, _: Sequence[Column]) -> str:
    """Update rows of the base, of inserts and of earlier updates."""
    return f"""\
UPDATE {table} SET ss_quantity = -ss_quantity, ss_ext_tax = NULL
WHERE ss_ticket_number % 100 = 7 AND ss_item_sk % 2 = 0 OR ss_ticket_number % 1000 = 123"""


def _delete(table: str, _: Sequence[Column], *, remainder: int) -> str:
    return f"DELETE FROM {table} WHERE ss_ticket_number % 100 = {remainder}"


def _delete_changed(table: str, _: Sequence[Column]) -> str:
    return f"""\
DELETE FROM {table} AS sale
WHERE sale.ss_quantity < -50
   OR sale.ss_ticket_number > 20000000 AND EXISTS (
     SELECT 1 FROM item WHERE i_item_sk = sale.ss_item_sk AND i_item_sk % 5 = 0)"""


def _merge(table: str, columns: Sequence[Column], *, shift: int) -> str:
    """Match tickets 1 and 2 of each hundred, add ticket 3 again, change some unmatched tickets."""
    changed = {
        "ss_ticket_number": "CASE WHEN ss_ticket_number % 100 = 3"
        f" THEN ss_ticket_number + {shift} ELSE ss_ticket_number END AS ss_ticket_number",
        "ss_quantity": "ss_quantity + 5 AS ss_quantity",
    }
    return f"""\
MERGE INTO {table} AS target
USING (
  SELECT {", ".join(changed.get(column.name, column.name) for column in columns)}
  FROM {table} WHERE ss_ticket_number % 100 IN (1, 2, 3)
) AS source
ON target.ss_ticket_number = source.ss_ticket_number AND target.ss_item_sk = source.ss_item_sk
WHEN MATCHED AND target.ss_ticket_number % 100 = 1 AND source.ss_quantity > 60 THEN DELETE
WHEN MATCHED AND target.ss_ticket_number % 100 = 1 THEN UPDATE SET
  ss_quantity = source.ss_quantity,
  ss_ext_sales_price = CAST(target.ss_sales_price * 0.5 AS DECIMAL(7,2))
WHEN MATCHED AND source.ss_quantity IS NULL THEN UPDATE SET ss_quantity = 0
WHEN NOT MATCHED AND source.ss_item_sk % 3 = 0 THEN INSERT ({_names(columns)})
  VALUES ({", ".join(f"source.{column.name}" for column in columns)})
WHEN NOT MATCHED THEN INSERT (ss_item_sk, ss_ticket_number, ss_store_sk)
  VALUES (source.ss_item_sk, source.ss_ticket_number, source.ss_store_sk)
WHEN NOT MATCHED BY SOURCE AND target.ss_ticket_number % 200 = 77 THEN UPDATE SET ss_net_profit = 0
WHEN NOT MATCHED BY SOURCE AND target.ss_ticket_number % 200 = 78 THEN DELETE"""


def _merge_returns(table: str, _: Sequence[Column]) -> str:
    """Subtract returned goods from the sales."""
    return f"""\
MERGE INTO {table} USING store_returns
ON ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk
WHEN MATCHED AND sr_return_quantity >= ss_quantity THEN DELETE
WHEN MATCHED AND sr_return_quantity > 0 THEN UPDATE SET
  ss_quantity = ss_quantity - sr_return_quantity"""


def _merge_customer(columns: Sequence[Column]) -> str:
    changed = {
        "c_customer_sk": "CASE WHEN c_customer_sk % 2 = 0"
        " THEN c_customer_sk + 20000000 ELSE c_customer_sk END AS c_customer_sk",
        "c_email_address": "upper(c_email_address) AS c_email_address",
        "c_last_name": "NULLIF(c_last_name, 'Smith') AS c_last_name",
    }
    return f"""\
MERGE INTO customer
USING (
  SELECT {", ".join(changed.get(column.name, column.name) for column in columns)}
  FROM customer WHERE c_customer_sk % 50 IN (8, 9)
) AS news
ON customer.c_customer_sk = news.c_customer_sk
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *"""


def _names(columns: Sequence[Column]) -> str:
    return ", ".join(column.name for column in columns)
