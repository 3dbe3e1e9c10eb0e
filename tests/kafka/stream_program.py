"""Process that streams Debezium's JSON from Kafka: ``python -m tests.kafka.stream_program HOME
ADDRESS FIRST LAST [DIES]``.

It sends the changes from FIRST to LAST to the topic, and then streams what is there: into the table
``log``, which has all of them, and merged into the table ``customer``. With DIES it ends like a
process that is killed, after that number of batches, between the transactions of a batch's two
tables. Otherwise it prints the rows of the tables as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import acidsql
from tests.kafka.broker import spark_class_path

TOPIC = "shop.public.customer"
_KEYS = 40
_ROW = "STRUCT<id: INT, name: STRING, city: STRING>"
_MESSAGE = f"op STRING, before {_ROW}, after {_ROW}, source STRUCT<lsn: BIGINT>"


def changes(count: int) -> list[dict[str, Any]]:
    """Return messages as Debezium writes them, without a schema."""
    chance = random.Random(17)
    rows: dict[int, dict[str, Any]] = {}
    found = []
    for lsn in range(count):
        key = chance.randrange(_KEYS)
        before = rows.get(key)
        after: dict[str, Any] | None = None
        if before is None or chance.random() < 0.7:
            after = {"id": key, "name": f"n{lsn}", "city": chance.choice(["Oslo", "Bonn", None])}
        op = "d" if after is None else "c" if before is None else "u"
        found.append({"op": op, "before": before, "after": after, "source": {"lsn": lsn}})
        if after is None:
            del rows[key]
        else:
            rows[key] = after
    return found


def merged(messages: list[dict[str, Any]]) -> list[list[Any]]:
    """Return the rows after some messages, by key."""
    rows: dict[int, list[Any]] = {}
    for message in messages:
        if message["after"] is None:
            del rows[message["before"]["id"]]
        else:
            rows[message["after"]["id"]] = list(message["after"].values())
    return [rows[key] for key in sorted(rows)]


def main(home: Path, address: str, first: int, last: int, dies: int | None = None) -> None:
    """Send and stream."""
    spark = _session(home)
    for columns in ("log (lsn BIGINT, op STRING)", "customer (id INT, name STRING, city STRING)"):
        acidsql.sql(
            spark,
            f"CREATE TABLE IF NOT EXISTS {columns} STORED AS ORC "
            "TBLPROPERTIES ('transactional' = 'true')",
        )
    _send(spark, address, changes(last)[first:])
    append = acidsql.sink("log", spark=spark)
    merge = acidsql.sink(
        "customer", mode="merge", on="id", order_by="lsn", delete_when="op = 'd'", spark=spark
    )

    def each(batch: DataFrame, batch_id: int) -> None:
        append(batch.select("lsn", "op"), batch_id)
        if dies is not None and batch_id + 1 >= dies:
            os.kill(os.getpid(), signal.SIGKILL)
        merge(batch, batch_id)

    stream = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 60)
        .load()
    )
    selected = ["coalesce(c.after.id, c.before.id) AS id", "c.after.name", "c.after.city", "c.op"]
    valued = stream.where("value IS NOT NULL")
    rows = valued.selectExpr(f"from_json(CAST(value AS STRING), '{_MESSAGE}') AS c").selectExpr(
        *selected, "c.source.lsn AS lsn"
    )
    query = rows.writeStream.foreachBatch(each).option(
        "checkpointLocation", str(home / "checkpoint")
    )
    query.trigger(availableNow=True).start().awaitTermination()
    texts = {
        "log": "SELECT lsn, op FROM log ORDER BY lsn",
        "customer": "SELECT id, name, city FROM customer ORDER BY id",
    }
    found = {name: [list(r) for r in acidsql.sql(spark, q).collect()] for name, q in texts.items()}
    print(json.dumps(found))
    spark.stop()


def _session(home: Path) -> SparkSession:
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "600m")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.acidsql.compaction.auto", "off")
        .config("spark.driver.extraClassPath", spark_class_path())
        .config("spark.sql.warehouse.dir", (home / "warehouse").as_uri())
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def _send(spark: SparkSession, address: str, messages: list[dict[str, Any]]) -> None:
    """Send messages to the topic, those of a key to one partition, in their order."""
    rows: list[tuple[str, str | None]] = []
    for message in messages:
        key = str((message["after"] or message["before"])["id"])
        rows.append((key, json.dumps(message)))
        if message["after"] is None:
            rows.append((key, None))  # for Kafka's own compaction
    sent = spark.createDataFrame(rows, "key STRING, value STRING").coalesce(1)
    sent.write.format("kafka").option("kafka.bootstrap.servers", address).option(
        "topic", TOPIC
    ).save()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
