"""Program whose JVM loads the classes that most tests need (``tests.class_data`` runs it)."""

from __future__ import annotations

import subprocess
import tempfile

from pyspark.sql import SparkSession

import acidsql

_ORC = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
_STATEMENTS = (
    f"CREATE TABLE t (id INT, v STRING, d DECIMAL(10, 2), at TIMESTAMP) {_ORC}",
    "INSERT INTO t SELECT CAST(id AS INT), 'a', 1, current_timestamp() FROM range(50)",
    f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (day STRING) {_ORC}",
    "INSERT INTO p VALUES (1, 'a', 'x'), (2, 'b', 'y')",
    "UPDATE p SET v = 'c' WHERE id = 2",
    "DELETE FROM t WHERE id % 3 = 0",
    "MERGE INTO p USING t ON p.id = t.id WHEN MATCHED THEN UPDATE SET v = t.v"
    " WHEN NOT MATCHED THEN INSERT (id, v, day) VALUES (t.id, t.v, 'z')",
    "SELECT t.v, count(*), sum(d) FROM t JOIN p ON t.id = p.id GROUP BY t.v ORDER BY 1",
    "ALTER TABLE p PARTITION (day = 'z') COMPACT 'major' AND WAIT",
)


def main() -> None:
    """Run statements of each kind, and wait for the end of the JVM, which writes its archive."""
    with tempfile.TemporaryDirectory() as home:
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", f"{home}/warehouse")
            .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
            .getOrCreate()
        )
        for statement in _STATEMENTS:
            acidsql.sql(spark, statement).collect()
        gateway = spark.sparkContext._gateway
        spark.stop()
        process: subprocess.Popen[bytes] = gateway.proc
        gateway.shutdown()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
