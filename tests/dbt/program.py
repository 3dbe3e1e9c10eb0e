"""Program that uses the built project in its own process, as ``python -m tests.dbt.program``.

It builds the project again, makes the catalog, tries what is refused, and writes the rows as JSON
into ``rows.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import acidsql
from dbt.cli.main import dbtRunner

_QUERIES = {
    "seed": "SELECT id, status, CAST(amount AS STRING), note FROM shop.raw_orders",
    "seed_times": "SELECT id, CAST(ordered_at AS STRING) FROM shop.raw_orders",
    "mixed": "SELECT * FROM shop.mixed",
    "mixed_days": "SELECT amount, CAST(day AS STRING) FROM shop.mixed_days",
    "mixed_rows": "SELECT * FROM shop.mixed_rows",
    "view": "SELECT id, CAST(day AS STRING) FROM shop.stg_orders",
    "customers": "SELECT customer, orders, CAST(total AS STRING) FROM shop.customers",
    "customers_writes": "DESCRIBE HISTORY shop.customers",
    "totals_writes": "DESCRIBE HISTORY shop.totals",
    "totals": "SELECT n, CAST(largest AS STRING) FROM shop.totals",
    "orders": "SELECT * FROM shop.orders",
    "orders_by_customer": "SELECT * FROM shop.orders_by_customer",
    "orders_by_day": "SELECT id, CAST(day AS STRING) FROM shop.orders_by_day",
    "orders_by_time": "SELECT id, status FROM shop.orders_by_time",
    "rounds": "SELECT * FROM shop.rounds",
    "snapshot": "SELECT id, status, dbt_is_deleted, dbt_valid_to IS NULL FROM shop.order_status",
    "orders_writes": "DESCRIBE HISTORY shop.orders",
    "synced": "SELECT * FROM shop.synced",
    "synced_writes": "DESCRIBE HISTORY shop.synced",
    "priced": "SELECT id, customer, CAST(price AS STRING) FROM shop.priced",
    "priced_writes": "DESCRIBE HISTORY shop.priced",
    "priced_described": "DESCRIBE EXTENDED shop.priced",
    "tables": "SHOW TABLES IN shop",
}
_REFRESHED = "SELECT * FROM shop.synced"
# Prices below zero, which the contract forbids.
_BREAKS = "{round: 2, factor: -1}"
_REFUSED = {
    "refused_grants": "materialized='table', grants={'select': ['ann']}",
    "refused_format": "materialized='table', file_format='delta'",
    "refused_strategy": "materialized='incremental', incremental_strategy='upsert'",
}


def main() -> None:
    """Use the project in the current directory."""
    runner = dbtRunner()
    places = ["--profiles-dir", "."]
    built = runner.invoke(["build", *sys.argv[1:], *places])
    generated = runner.invoke(["docs", "generate", *places])
    found: dict[str, object] = {
        "built": built.success,
        "changed": {
            each.node.name: each.adapter_response.get("rows_affected") for each in built.result
        },
        "generated": generated.success,
    }
    for name, configuration in _REFUSED.items():
        model = f"{{{{ config({configuration}) }}}} select 1 as id"
        Path("models", f"{name}.sql").write_text(model)
    refused = runner.invoke(["run", "--select", *_REFUSED, *places])
    found["refused"] = {each.node.name: each.message for each in refused.result}
    broken = runner.invoke(["run", "--select", "priced", "--vars", _BREAKS, *places])
    (found["broken"],) = (each.message for each in broken.result)
    spark = SparkSession.builder.getOrCreate()
    for name, query in _QUERIES.items():
        frame = acidsql.sql(spark, query)
        if name.endswith("_writes"):
            frame = frame.select("operation")
        rows = [list(row) for row in frame.collect()]
        found[name] = rows if name.endswith("_described") else sorted(rows, key=repr)
    refresh = ["run", "--full-refresh", "--select", "synced", "--vars", "{round: 3}", *places]
    found["is_refreshed"] = runner.invoke(refresh).success
    found["refreshed"] = [list(row) for row in acidsql.sql(spark, _REFRESHED).collect()]
    Path("rows.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
