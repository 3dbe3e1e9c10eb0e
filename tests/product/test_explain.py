"""Tests of EXPLAIN's section about ACID tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pytest

import acidsql
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import TxnState
from tests.limits import set_limits

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def section(lab: Lab, statement: str, mode: str = "") -> list[str]:
    """Return the lines of the section without what differs from run to run."""
    ((plan,),) = lab.sql(f"EXPLAIN {mode} {statement}")
    assert plan.count("== ACID ==") == 1
    return str(plan).partition("== ACID ==\n")[2].splitlines()


def one(lines: list[str], word: str) -> str:
    """Return what follows ``word:`` in the only line with it."""
    (found,) = [line.partition(": ")[2] for line in lines if line.strip().startswith(f"{word}:")]
    return found


def listed(lines: list[str], word: str) -> dict[str, str]:
    """Return the names below the line that begins with a word, with what is said of each."""
    start = next(i for i, line in enumerate(lines) if line.startswith(f"  {word}: "))
    below = []
    for line in lines[start + 1 :]:
        if not line.startswith("    "):
            break
        below.append(line.strip().partition(": "))
    return {name: text for name, _, text in below}


def no_trace(lab: Lab) -> tuple[object, ...]:
    """Return what an EXPLAIN must not change."""
    metastore = lab.session.metastore
    opened = [t.txn_id for t in metastore.open_txns() if t.state is TxnState.OPEN]
    return opened, metastore.locks(), len(lab.session.leases)


@pytest.fixture
def table(lab: Lab) -> Iterator[str]:
    """Yield a partitioned table with a delete, an aborted and an open write, and staging."""
    t = lab.create("id INT, s STRING", partitioned="p INT", values="(1, 'a', 1), (2, 'b', 2)")
    lab.insert(t, "(3, 'c', 1), (4, 'd', 3)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    metastore = lab.session.metastore
    txns = [metastore.open_txn("ann", "host") for _ in range(2)]
    for txn in txns:
        write_id = metastore.allocate_write_id(txn, "default", t)
        name = f"delta_{write_id:07}_{write_id:07}_0000"
        (lab.root(t) / "p=1" / name).mkdir()
    metastore.abort_txns([txns[0]])
    (lab.root(t) / "p=1" / "_acidsql_staging_7").mkdir()
    yield t
    metastore.abort_txns([txns[1]])


def test_what_a_query_reads_and_what_is_hidden_from_it(lab: Lab, table: str) -> None:
    before = no_trace(lab)
    lines = section(lab, f"SELECT s FROM {table} WHERE p < 2 AND id IN (3, 5)")
    assert lines[0] == f"Scan default.{table}"
    txns, write_ids = one(lines, "Snapshot").split("; ")
    assert write_ids == "write ids up to 5 (open 5, aborted 4)"
    assert txns.startswith("transactions up to ")
    assert one(lines, "Partitions") == "1 of 3, by (p IS NOT NULL) AND (p < 2)"
    read = listed(lines, "Read")
    assert list(read) == [
        "p=1/delta_0000001_0000001_0000",
        "p=1/delta_0000002_0000002_0000",
        "p=1/delete_delta_0000003_0000003_0000",
    ]
    assert listed(lines, "Hidden") == {
        "p=1/_acidsql_staging_7": "staging",
        "p=1/delta_0000004_0000004_0000": "of aborted transactions",
        "p=1/delta_0000005_0000005_0000": "of an open transaction",
    }
    assert one(lines, "Search argument") == "(id IN (3, 5))"
    assert one(lines, "Delete events") == "1 in 1 file, applied as the rows are read"
    assert one(lines, "Rows") == "2, up to 1 of them deleted"
    assert one(lines, "Data").endswith("in 2 files")
    assert no_trace(lab) == before


def test_the_section_tells_of_the_files_of_the_plan(lab: Lab, table: str) -> None:
    query = f"SELECT * FROM {table} WHERE p < 3"
    lines = section(lab, query)
    names = lab.frame(query).selectExpr("input_file_name()").distinct().collect()
    places = {name for name in listed(lines, "Read") if "delete_delta" not in name}
    files = [file for place in places for file in (lab.root(table) / place).glob("bucket_*")]
    # All rows of one file are deleted.
    assert {urlparse(name).path for (name,) in names} < set(map(str, files))
    assert len(names) == len(files) - 1
    size = sum(file.stat().st_size for file in files)
    assert one(lines, "Data") == f"{size / 1024:.1f} KiB in {len(files)} files"
    metrics = lab.session.metastore.valid_write_ids(
        "default", table, lab.session.metastore.valid_txns()
    )
    assert f"write ids up to {metrics.high_water_mark} " in one(lines, "Snapshot")


@pytest.mark.sample("FORMATTED")
@pytest.mark.parametrize("mode", ["", "EXTENDED", "FORMATTED", "COST", "CODEGEN"])
def test_every_mode_has_the_section_after_sparks_plan(lab: Lab, mode: str) -> None:
    t = lab.create("id INT", values="(1)")
    ((plan,),) = lab.sql(f"EXPLAIN {mode} SELECT * FROM {t}")
    spark, _, own = str(plan).partition("== ACID ==\n")
    assert "Scan" in spark
    assert own.startswith(f"Scan default.{t}\n")
    assert lab.frame(f"EXPLAIN {mode} SELECT * FROM {t}").columns == ["plan"]


@pytest.mark.repeated
def test_long_lists_end_unless_extended(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, explained_directories=2, explained_characters=10)
    t = lab.create("id INT", partitioned="p INT", values="(1, 1), (2, 2), (3, 3)")
    query = f"SELECT * FROM {t} WHERE p IN (1, 2, 3, 4)"
    short, whole = section(lab, query), section(lab, query, "EXTENDED")
    assert short.count("    … 1 more (EXPLAIN EXTENDED shows them)") == 1
    assert len(listed(whole, "Read")) == 3
    assert one(short, "Partitions").endswith("…")
    assert one(whole, "Partitions") == "3 of 3, by (p IN (1, 2, 3, 4))"


def test_what_is_told_of_delete_events(lab: Lab) -> None:
    t = lab.create("id INT, s STRING", values="(1, 'a'), (2, 'b')")
    assert one(section(lab, f"SELECT * FROM {t}"), "Delete events") == "none"
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    counted = section(lab, f"SELECT count(*) FROM {t}")
    assert one(counted, "Delete events") == "1 in 1 file, counted from the files"
    assert one(counted, "Rows").startswith("1, counted from the tails")
    assert one(counted, "Data") == "0 B in 0 files"
    lab.insert(t, "(3, 'c')")
    lab.compact(t, "major")
    lines = section(lab, f"SELECT * FROM {t} WHERE s = 'c'")
    assert one(lines, "Delete events") == "none"
    assert next(iter(listed(lines, "Read"))).startswith("base_0000003_v")


@pytest.mark.slow
def test_a_statement_that_writes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = lab.create("id INT, s STRING", partitioned="p INT", values="(1, 'a', 1), (2, 'b', 2)")
    state = lab.state(t)
    acidsql.release(lab.spark)
    before = no_trace(lab)
    name, w = f"default.{t}", "<write id>"
    delta, delete = f"delta_{w}_{w}", f"delete_delta_{w}_{w}"
    rows = "in the partitions of the rows"
    merge = (
        f"MERGE INTO {t} t USING (SELECT 1 AS k, 'x' AS v) s ON t.id = s.k AND t.p = 1 "
        "WHEN MATCHED AND s.v = 'y' THEN DELETE WHEN MATCHED THEN UPDATE SET s = v "
        "WHEN NOT MATCHED THEN INSERT (id, s, p) VALUES (k, v, 9)"
    )
    merged = f"{delete}_0000, {delete}_0001, {delta}_0001, {delta}_0002"
    cases = {
        f"UPDATE {t} SET s = 'u' WHERE id = 2": (
            *("UPDATE", f"SHARED_WRITE on {name}", f"{delete}_0000, {delta}_0000 {rows}"),
            "the driver if there are fewer than 200 events, else a Spark job",
        ),
        f"INSERT INTO {t} VALUES (5, 'e', 5)": (
            *("INSERT INTO", f"SHARED_READ on {name}", f"{delta}_0000 {rows}", "the driver"),
        ),
        f"INSERT OVERWRITE {t} PARTITION (p = 2) SELECT id, s FROM {t}": (
            *("INSERT OVERWRITE", f"EXCLUSIVE on {name}/p=2", f"base_{w} in p=2", "a Spark job"),
        ),
        merge: (
            *("MERGE", f"SHARED_WRITE on {name}", f"{merged} {rows}"),
            "the driver if there are fewer than 200 events, else a Spark job",
        ),
    }
    for statement, (operation, lock, directories, writer) in cases.items():
        lines = section(lab, statement)
        assert f"Write {name} by {operation}" in lines
        assert one(lines, "Lock") == lock
        assert one(lines, "Directories") == directories
        assert one(lines, "Writer") == writer
    update = section(lab, f"UPDATE {t} SET s = 'u' WHERE p = 2")
    assert one(update, "Partitions") == "1 of 2, by (p IS NOT NULL) AND (p = 2)"
    deleted = section(lab, f"DELETE FROM {t}")
    assert one(deleted, "Directories") == f"{delete}_0000 {rows}"
    assert one(deleted, "Writer").startswith("the driver if there are fewer than 5000000 delete")
    set_limits(monkeypatch, driver_read_bytes=0, merge_shuffle_bytes=0, driver_join_bytes=0)
    assert one(section(lab, f"DELETE FROM {t}"), "Writer") == "a Spark job"
    assert one(section(lab, merge), "Writer") == "a Spark job"
    assert one(section(lab, merge), "Source").startswith("computed first if the driver")
    assert no_trace(lab) == before
    assert lab.state(t) == state


@pytest.mark.repeated
def test_statements_that_write_several_tables_or_a_new_one(lab: Lab) -> None:
    t, other = (lab.create("id INT", values="(1)") for _ in range(2))
    states = lab.state(t), lab.state(other)
    acidsql.release(lab.spark)
    before = no_trace(lab)
    lines = section(lab, f"FROM {t} INSERT INTO {t} SELECT id INSERT INTO {other} SELECT id + 1")
    assert [line for line in lines if line.startswith("Write")] == [
        f"Write default.{t} by INSERT INTO",
        f"Write default.{other} by INSERT INTO",
    ]
    like = f"{t}_new STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    lines = section(lab, f"CREATE TABLE {like} AS SELECT * FROM {t}")
    assert f"Write default.{t}_new by CREATE TABLE" in lines
    assert lab.session.metastore.find_table("default", f"{t}_new") is None
    assert no_trace(lab) == before
    assert (lab.state(t), lab.state(other)) == states


def test_commands_of_spark_are_not_run(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    lab.spark.sql(f"CREATE TABLE {t}_plain (id INT) USING parquet")
    before = no_trace(lab)
    for statement in (
        f"INSERT INTO {t}_plain SELECT * FROM {t}",
        f"CREATE TABLE {t}_other USING parquet AS SELECT * FROM {t}",
    ):
        ((plan,),) = lab.sql(f"EXPLAIN {statement}")
        assert "== Physical Plan ==" in plan
        assert f"Scan default.{t}" in plan
    assert lab.spark.table(f"{t}_plain").count() == 0
    assert not lab.spark.catalog.tableExists(f"{t}_other")
    assert no_trace(lab) == before
    assert "ACID" not in lab.sql("EXPLAIN SELECT 1")[0][0]


def test_what_is_refused_is_refused_by_explain(lab: Lab) -> None:
    t = lab.create("id INT", properties={"transactional_properties": "insert_only"}, values="(1)")
    with pytest.raises(AcidAnalysisError, match="INSERT_ONLY_TABLE"):
        lab.sql(f"EXPLAIN UPDATE {t} SET id = 2")
    lines = section(lab, f"SELECT * FROM {t}")
    assert [line.strip().partition(":")[0] for line in lines] == [
        f"Scan default.{t}",
        *("Snapshot", "Read", "delta_0000001_0000001_0000", "Rows", "Data"),
    ]


@pytest.mark.repeated
def test_secrets_in_conditions_are_redacted(lab: Lab) -> None:
    t = lab.create("id INT", partitioned="p STRING", values="(1, 'a')")
    with lab.settings(spark__sql__redaction__string__regex="hush"):
        assert "hush" not in "".join(section(lab, f"SELECT * FROM {t} WHERE p <> 'hush'"))
