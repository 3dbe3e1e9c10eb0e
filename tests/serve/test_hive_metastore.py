"""Tests of ``acidsql serve`` over a Hive Metastore: what its clients write and see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.metastore.hive.connection import Connections, parse_uris
from tests.java_tools import TOOLS, JavaSetupError
from tests.metastore.server.launcher import MetastoreServer, running
from tests.requirements import require_tools, unavailable
from tests.serve.conftest import serving, url
from tests.serve.jdbc import Driver, JdbcConnection, JdbcError

pytestmark = [pytest.mark.spark, pytest.mark.serve, pytest.mark.metastore]

_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    """Yield a metastore of Hive 4.1."""
    require_tools(*TOOLS)
    try:
        with running("4.1.0", tmp_path_factory.mktemp("metastore")) as server:
            yield server
    except JavaSetupError as error:
        unavailable(f"a Hive Metastore could not be provided: {error}")


@pytest.fixture
def over_hive(metastore: MetastoreServer, jdbc: Driver, tmp_path: Path) -> Iterator[JdbcConnection]:
    """Yield a connection to a server over the metastore."""
    with serving(tmp_path, "none", {"spark.acidsql.metastore": metastore.uri}) as port:
        connection = jdbc.connect(url(port), "somebody")
        yield connection
        connection.close()


def test_clients_write_and_are_told_of_tables(
    over_hive: JdbcConnection, metastore: MetastoreServer
) -> None:
    over_hive.execute("CREATE DATABASE sales")
    over_hive.execute(
        "CREATE TABLE sales.sold (id INT, price DECIMAL(10,2) COMMENT 'in EUR')"
        f" COMMENT 'what was sold' PARTITIONED BY (shop STRING) {_ACID}"
    )
    over_hive.execute("INSERT INTO sales.sold VALUES (1, 1.5, 'a'), (2, 2.5, 'b')")
    over_hive.execute("START TRANSACTION")
    over_hive.execute("UPDATE sales.sold SET price = price * 2 WHERE shop = 'b'")
    over_hive.execute("DELETE FROM sales.sold WHERE id = 1")
    over_hive.execute("COMMIT")
    assert over_hive.execute("SELECT * FROM sales.sold") == [["2", "5.00", "b"]]
    assert over_hive.schemas() == ["default", "global_temp", "sales"]
    assert over_hive.tables("s%", "so_d") == [("sales", "sold", "TABLE", "what was sold")]
    assert over_hive.columns("sales", "sold") == [
        ("sold", "id", "INT", ""),
        ("sold", "price", "DECIMAL(10,2)", "in EUR"),
        ("sold", "shop", "STRING", ""),
    ]
    connections = Connections(parse_uris(metastore.uri), user="ann", timeout=60)
    assert connections.call("get_all_tables", "sales") == ["sold"]
    connections.close()
    with pytest.raises(JdbcError, match="TABLE_OR_VIEW_NOT_FOUND") as caught:
        over_hive.execute("DELETE FROM sales.nothing")
    assert caught.value.state == "42P01"
    over_hive.execute("DROP DATABASE sales CASCADE")
    assert over_hive.tables("sales") == []
