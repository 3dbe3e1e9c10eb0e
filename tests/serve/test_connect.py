"""Tests of ``acidsql serve --connect`` with PySpark's client of Spark Connect."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pyspark
import pytest

from tests.nasty_values import NASTY, SET_TO, SETTING
from tests.requirements import require_tools, unavailable
from tests.serve.conftest import serving
from tests.serve.connect import ConnectClient, ConnectError, connect_client

pytestmark = [
    pytest.mark.spark,
    pytest.mark.serve,
    pytest.mark.skipif(pyspark.__version__ < "4", reason="the server is one of PySpark 4"),
]

_TOKEN = "the clients' own"
_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture(scope="module")
def connect_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    require_tools("java")
    if importlib.util.find_spec("grpc") is None:
        unavailable("grpcio is not installed: pip install 'acidsql[connect]'")
    home = tmp_path_factory.mktemp("connect")
    with serving(home, "token", {}, "--connect", token=_TOKEN) as found:
        yield found


@pytest.fixture(scope="module")
def client(connect_port: int) -> Iterator[ConnectClient]:
    # With this name of the host the client sends a token without TLS.
    with connect_client(f"sc://localhost:{connect_port}/;token={_TOKEN}") as found:
        yield found


@pytest.fixture
def table(client: ConnectClient, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the name of a table with the rows (1, 'a') and (2, 'b')."""
    name = str(request.node.name).partition("[")[0].removeprefix("test_")[:40]
    client.sql(f"CREATE TABLE {name} (id INT, v STRING) {_ACID}")
    client.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    yield name
    client.sql(f"DROP TABLE {name}")


def test_statements(client: ConnectClient, table: str) -> None:
    assert client.sql(f"UPDATE {table} SET v = 'c' WHERE id = 2") == [[1, 1]]
    assert client.sql(
        f"MERGE INTO {table} t USING (SELECT 2 AS id UNION ALL SELECT 3) s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'm')"
    ) == [[2, 0, 1, 1]]
    assert client.sql(f"SELECT * FROM {table} ORDER BY id") == [[1, "a"], [3, "m"]]
    assert client.sql(f"DELETE FROM {table} WHERE id = 3") == [[1, 1]]
    assert client.sql(f"SELECT count(*) FROM {table} VERSION AS OF 1") == [[2]]
    assert [row[1:3] for row in client.sql("SHOW TABLES")] == [[table, False]]
    assert client.sql("SHOW COMPACTIONS") == []


def test_values_of_parameters(client: ConnectClient, table: str) -> None:
    assert client.sql(f"UPDATE {table} SET v = :v WHERE id = :id", {"v": "it's", "id": 1}) == [
        [1, 1]
    ]
    assert client.sql(f"SELECT id FROM {table} WHERE v = ? AND id < ?", ["it's", 2]) == [[1]]
    with pytest.raises(ConnectError, match="UNBOUND_SQL_PARAMETER"):
        client.sql(f"DELETE FROM {table} WHERE v = :other", {"v": 1})


def test_values_are_not_looked_into(client: ConnectClient, table: str) -> None:
    named = ", ".join(f"({n}, :v{n})" for n in range(len(NASTY)))
    ordered = ", ".join(f"({n}, ?)" for n in range(len(NASTY)))
    expected = [[n, value] for n, value in enumerate(NASTY)]
    client.run(f"spark.conf.set({SETTING!r}, {SET_TO!r})")
    for escaped in ("true", "false"):
        client.run(f"spark.conf.set('spark.sql.parser.escapedStringLiterals', {escaped!r})")
        client.sql(f"DELETE FROM {table}")
        client.sql(f"INSERT INTO {table} VALUES {named}", {f"v{n}": v for n, v in expected})
        client.sql(f"INSERT INTO {table} VALUES {ordered}", list(NASTY))
        rows = client.sql(f"SELECT id, v FROM {table} ORDER BY id")
        assert rows == [row for row in expected for _ in range(2)]
        token = "${env:SPARK_CONNECT_AUTHENTICATE_TOKEN}"
        assert client.sql(f"SELECT DISTINCT :x FROM {table}", {"x": token}) == [[token]]


def test_the_time_zone_of_a_statement_is_that_of_its_client(
    client: ConnectClient,
) -> None:
    client.sql("CREATE TABLE times (id INT, ts TIMESTAMP) " + _ACID)
    noon = "TIMESTAMP'2024-07-01 12:00:00'"
    for number, zone in enumerate(("UTC", "Europe/Berlin", "Asia/Tokyo")):
        client.sql(f"SET TIME ZONE '{zone}'", session="travels")
        client.sql(f"INSERT INTO times VALUES ({number}, {noon})", session="travels")
    rows = [[number, "2024-07-01 12:00:00"] for number in range(3)]
    query = f"SELECT id, CAST(ts AS STRING) FROM times WHERE ts = {noon} ORDER BY id"
    assert client.sql(query) == client.sql(query, session="travels") == rows
    assert client.run(f"result = spark.table('times').where(\"ts = {noon}\").count()") == 3
    client.run("spark.stop()", session="travels")
    client.sql("DROP TABLE times")


def test_a_change_runs_once(client: ConnectClient, table: str) -> None:
    program = f"""
frame = spark.sql("UPDATE {table} SET id = id + 10")
frame.explain()
result = [frame.columns, frame.collect(), frame.collect(), frame.count(), frame.limit(1).collect()]
"""
    names, *rows, count, first = client.run(program)
    assert names == ["num_affected_rows", "num_updated_rows"]
    assert [*rows, first] == [[[2, 2]]] * 3
    assert count == 1
    assert client.sql(f"SELECT id FROM {table} ORDER BY id") == [[11], [12]]
    client.sql(f"EXPLAIN DELETE FROM {table}")
    assert client.sql(f"SELECT count(*) FROM {table}") == [[2]]


def test_what_is_of_spark_alone_runs_once(client: ConnectClient, table: str) -> None:
    client.sql("CREATE TABLE of_spark USING orc AS SELECT 1 AS id")
    client.run('spark.sql("INSERT INTO of_spark VALUES (2)").collect()')
    script = f"""
frame = spark.sql('''
    BEGIN INSERT INTO of_spark SELECT id FROM {table} WHERE id = 1; SELECT 5 AS x; END
''')
result = [frame.collect(), frame.columns]
"""
    assert client.run(script) == [[[5]], ["x"]]
    assert client.sql("SELECT id FROM of_spark ORDER BY id") == [[1], [1], [2]]
    assert client.sql("SELECT id + :n FROM of_spark WHERE id = 2", {"n": 1}) == [[3]]
    client.sql("DROP TABLE of_spark")


def test_a_table_by_its_name(client: ConnectClient, table: str) -> None:
    program = f"""
frame = spark.table("{table}")
names = frame.columns
before = frame.where("id > 1").collect()
spark.sql("INSERT INTO {table} VALUES (3, 'c')").collect()
joined = frame.alias("x").join(spark.read.table("default.{table}").alias("y"), "id")
old = spark.read.option("versionAsOf", 1).table("{table}")
result = [names, before, frame.where("id > 1").count(), joined.count(), old.count()]
"""
    assert client.run(program) == [["id", "v"], [[2, "b"]], 2, 3, 2]


def test_columns_by_their_frame(client: ConnectClient, table: str) -> None:
    client.sql(f"CREATE TABLE plain USING orc AS SELECT * FROM {table}")
    program = """
from pyspark.sql import functions

def seen(name):
    frame, other = spark.table(name), spark.read.table(name)
    old = spark.read.option("versionAsOf", 1).table(name) if name != "plain" else other
    result = [
        frame.select(frame.id, frame["v"]).orderBy(frame.id.desc()).collect(),
        frame.where(frame["id"] > 1).withColumn("z", frame.id + 1).collect(),
        frame.drop(frame.id).orderBy(frame.v).collect(),
        frame.groupBy(frame.v).agg(functions.max(frame.id)).orderBy(frame.v).collect(),
        frame.join(other, frame.id == other.id).select(frame.v, other.id).orderBy("id").collect(),
        frame.join(frame.where(frame.id > 1), "id").select("id").collect(),
        frame.join(frame.where("id > 1"), "id", "left_anti").select(frame.id).collect(),
        frame.alias("x").join(other.alias("y"), frame.id < other.id).select("x.v", "y.v").collect(),
        frame.select(frame["*"]).where(frame.colRegex("`i.`") == 1).collect(),
        old.where(old.id == 2).select(old.v).collect(),
        spark.sql("SELECT * FROM {f} WHERE {c} = 2", f=frame, c=frame.id).collect(),
    ]
    frame.createOrReplaceTempView("of_frame")
    viewed = spark.table("of_frame")
    return result + [viewed.where(viewed.id > 1).select(viewed.v).collect()]
result = [seen("plain"), seen("TABLE")]
""".replace("TABLE", table)
    plain, acid = client.run(program)
    assert plain[0] == [[2, "b"], [1, "a"]]
    assert acid == plain
    client.sql("DROP TABLE plain")


def test_a_temporary_view_of_sql_is_current(client: ConnectClient, table: str) -> None:
    client.sql(f"CREATE TEMPORARY VIEW current AS SELECT id FROM {table} WHERE id > 1")
    client.sql("CREATE TEMPORARY VIEW above AS SELECT id + 1 AS n FROM current")
    client.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    program = """
view, above = spark.table("current"), spark.read.table("above")
result = [
    view.count(),
    view.where(view.id > 2).collect(),
    above.select(above.n).orderBy(above.n.desc()).collect(),
    spark.sql("SELECT count(*) FROM current").collect(),
]
"""
    assert client.run(program) == [2, [[3]], [[4], [3]], [[2]]]
    # Another view of that name is Spark's.
    client.run('spark.range(7).createOrReplaceTempView("current")')
    assert client.run('result = spark.table("current").count()') == 7
    for name in ("above", "current"):
        client.sql(f"DROP VIEW {name}")


def test_rows_of_the_client_are_written(client: ConnectClient, table: str) -> None:
    program = f"""
rows = spark.createDataFrame([(7, "x")], "id INT, v STRING")
spark.sql("INSERT INTO {table} SELECT * FROM {{rows}}", rows=rows)
result = spark.sql("SELECT count(*) FROM {{t}} WHERE id = 7", t=spark.table("{table}")).collect()
"""
    assert client.run(program) == [[1]]


def test_writers_of_frames_say_what_to_do(client: ConnectClient, table: str) -> None:
    frame = "df = spark.createDataFrame([(3, 'c')], 'id INT, v STRING')\n"
    for writer in (
        f"df.write.saveAsTable({table!r})",
        f"df.write.mode('append').saveAsTable('default.{table}')",
        f"df.write.mode('overwrite').saveAsTable({table!r})",
        f"df.write.insertInto({table!r})",
        f"df.writeTo({table!r}).append()",
        f"df.writeTo({table!r}).overwritePartitions()",
        f"df.writeTo({table!r}).using('parquet').create()",
    ):
        with pytest.raises(ConnectError, match="INSERT INTO") as caught:
            client.run(frame + writer)
        assert caught.value.condition == "UNSUPPORTED_FEATURE.CONNECT_WRITE", writer
    assert client.sql(f"SELECT count(*) FROM {table}") == [[2]]
    plain = f"{table}_plain"
    client.run(f"{frame}df.write.saveAsTable({plain!r})\ndf.write.insertInto({plain!r})")
    assert client.sql(f"SELECT count(*) FROM {plain}") == [[2]]
    client.sql(f"DROP TABLE {plain}")


def test_the_names_in_a_view_are_of_its_database(client: ConnectClient, table: str) -> None:
    client.sql("CREATE DATABASE elsewhere")
    client.sql("CREATE TABLE elsewhere.inner_table USING orc AS SELECT 5 AS id")
    client.sql("CREATE VIEW elsewhere.shown AS SELECT * FROM elsewhere.inner_table")
    client.sql(f"CREATE VIEW seen AS SELECT id FROM {table} WHERE id > 1")
    assert client.sql("SELECT * FROM elsewhere.shown") == [[5]]
    assert client.run('result = spark.table("seen").collect()') == [[2]]
    client.sql("DROP VIEW seen")
    client.sql("DROP DATABASE elsewhere CASCADE")


@pytest.mark.parametrize(
    ("text", "kind", "condition", "state"),
    [
        ("UPDATE", "ParseException", "PARSE_SYNTAX_ERROR", "42601"),
        ("DELETE FROM absent", "AnalysisException", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        ("SELECT nope FROM {}", "AnalysisException", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
        ("ALTER TABLE {} SET LOCATION '/x'", "AnalysisException",
         "UNSUPPORTED_FEATURE.SET_LOCATION", "0A000"),
        ("COMMIT", "SparkException", "NO_ACTIVE_TRANSACTION", "25P01"),
        ("SELECT 1 / (id - id) FROM {}", "ArithmeticException", "DIVIDE_BY_ZERO", "22012"),
    ],
)  # fmt: skip
def test_errors(
    client: ConnectClient, table: str, text: str, kind: str, condition: str, state: str
) -> None:
    with pytest.raises(ConnectError) as raised:
        client.sql(text.format(table))
    assert (raised.value.condition, raised.value.state) == (condition, state)
    assert kind in raised.value.classes


def test_sessions_have_databases_settings_and_transactions(
    client: ConnectClient, table: str
) -> None:
    client.sql("CREATE DATABASE others", session="other")
    client.sql("USE others", session="other")
    client.sql("SET spark.sql.shuffle.partitions=7", session="other")
    assert client.sql("SELECT current_database()", session="other") == [["others"]]
    assert client.sql("SELECT current_database()") == [["default"]]
    assert client.run('result = spark.conf.get("spark.sql.shuffle.partitions")') == "2"
    count = f"SELECT count(*) FROM default.{table}"
    client.sql("START TRANSACTION", session="other")
    client.sql(f"DELETE FROM default.{table} WHERE id = 1", session="other")
    client.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    # The snapshot of the transaction, with its own change.
    assert client.sql(count, session="other") == [[1]]
    assert client.sql(count) == [[3]]
    client.run("spark.stop()", session="other")  # rolls back
    assert client.sql(f"UPDATE {table} SET v = 'u' WHERE id = 1") == [[1, 1]]
    assert client.sql(count, session="third") == [[3]]
    client.sql("DROP DATABASE others")


def test_sessions_that_write_at_once(client: ConnectClient, table: str) -> None:
    program = f"""
from concurrent.futures import ThreadPoolExecutor

def write(number):
    own = connect()
    for n in range(2):
        own.sql("INSERT INTO {table} VALUES (?, ?)", [100 + number, str(n)]).collect()

with ThreadPoolExecutor(3) as pool:
    list(pool.map(write, range(3)))
result = spark.sql("SELECT id, v FROM {table} WHERE id >= 100 ORDER BY id, v").collect()
"""
    assert client.run(program) == [[100 + i, str(n)] for i in range(3) for n in range(2)]


def test_an_interrupted_change_is_rolled_back(client: ConnectClient, table: str) -> None:
    program = f"""
import threading, time
from pyspark.errors import PySparkException

raised = []
def change():
    try:
        spark.sql('''UPDATE {table} SET v = (
            SELECT CAST(count(*) AS STRING) FROM range(10000000000) AS a(x) WHERE x % 7 = hash(x))
        ''')
    except PySparkException as error:
        raised.append(error)

thread = threading.Thread(target=change)
thread.start()
while thread.is_alive():
    time.sleep(1)
    spark.interruptAll()
result = [error.getCondition() for error in raised]
"""
    assert client.run(program) == ["OPERATION_CANCELED"]
    assert client.sql(f"UPDATE {table} SET id = id + 1") == [[2, 2]]
    assert client.sql(f"SELECT * FROM {table} ORDER BY id") == [[2, "a"], [3, "b"]]


def test_a_wrong_token_is_refused(connect_port: int) -> None:
    for url, said in (
        (f"sc://localhost:{connect_port}/;token=guessed", "Invalid authentication token"),
        (f"sc://127.0.0.1:{connect_port}", "No authentication token provided"),
    ):
        with connect_client(url) as stranger, pytest.raises(ConnectError, match=said):
            stranger.sql("SELECT 1")
