"""Program whose JVM is killed within a transaction of several statements; its Python lives on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import acidsql
from acidsql.metastore.model import TxnState
from acidsql.session.acid_session import AcidSession


def main(home: Path) -> None:
    """Print what is open before the JVM is killed and after it, and the files of the table."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .getOrCreate()
    )
    acidsql.sql(
        spark, "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    metastore = AcidSession.of(spark).metastore
    told: dict[str, object] = {}

    def left() -> tuple[int, int]:
        states = [txn.state for txn in metastore.open_txns()]
        return states.count(TxnState.OPEN), len(metastore.locks())

    try:
        with acidsql.transaction(spark) as own:
            rows = own.table("t")
            own.sql("INSERT INTO t VALUES (2)")
            told["before"] = left()
            process = spark.sparkContext._gateway.proc
            process.kill()
            process.wait()
            own.sql("INSERT INTO t VALUES (3)")
    except BaseException as error:  # noqa: BLE001 - the test shows it
        told["raised"] = type(error).__name__
    told["after"] = left()
    told["files"] = sorted(path.name for path in (home / "warehouse" / "t").glob("*delta*"))
    del rows
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
