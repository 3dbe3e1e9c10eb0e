"""Program whose first read of an ACID table comes from a batch of a stream.

``python -m tests.product.first_batch_program HOME`` prints the rows that three batches have left.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import acidsql

_ROWS = 6


def main(home: Path) -> None:
    """Stream rows of files into a table, each batch by a MERGE."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.acidsql.compaction.auto", "off")
        .config("spark.sql.warehouse.dir", (home / "warehouse").as_uri())
        .getOrCreate()
    )
    table = "CREATE TABLE t (id INT, n INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    acidsql.sql(spark, table)
    source = home / "source"
    spark.range(_ROWS).selectExpr("CAST(id AS INT) AS id").repartition(3).write.parquet(
        source.as_uri()
    )

    def each(batch: DataFrame, number: int) -> None:
        merged = "MERGE INTO t USING {b} AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
        acidsql.sql(batch.sparkSession, merged, b=batch.selectExpr("id", f"{number} AS n"))
        assert (
            acidsql.sql(batch.sparkSession, f"SELECT count(*) FROM t WHERE n = {number}").collect()[
                0
            ][0]
            > 0
        )

    stream = spark.readStream.schema("id INT").option("maxFilesPerTrigger", 1)
    query = stream.parquet(source.as_uri()).writeStream.foreachBatch(each)
    query = query.option("checkpointLocation", (home / "checkpoint").as_uri())
    query.trigger(availableNow=True).start().awaitTermination()
    rows = acidsql.sql(spark, "SELECT id FROM t ORDER BY id").collect()
    print([row.id for row in rows])
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
