"""Tests of the comparison with other engines: its protocol, its workers, and a small run of it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tpcds_bench.data import Column
from tpcds_bench.peers import cold, registry, suite
from tpcds_bench.peers.client import Client, WorkerError
from tpcds_bench.peers.contest import Contest, Member
from tpcds_bench.peers.flat import rewritten_sql
from tpcds_bench.peers.protocol import receive, send
from tpcds_bench.peers.results import passed
from tpcds_bench.peers.sources import Keys, Sources, make_sources, sources_of
from tpcds_bench.peers.statements import Compact, Delete, Maxima, Merge, Update, change_sql
from tpcds_bench.peers.steps import TABLE, Step, chosen, steps
from tpcds_bench.peers.worker import brief
from tpcds_bench.storage import sizes, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from tpcds_bench.data import Dataset

COLUMNS = tuple(
    Column(name=name, type="BIGINT") for name in ("ss_item_sk", "ss_ticket_number", "ss_quantity")
)
KEYS = Keys(
    updated=(1, 2),
    deleted=(3, 4),
    small_updated=(5, 6),
    small_deleted=(7, 8),
    scattered=(9, 10),
    tickets=(11, 12),
    days=(13, 14),
    customer=15,
)
SOURCES = Sources(columns=COLUMNS, views={"all_rows": "/rows.parquet"}, keys=KEYS)


def test_messages_are_lines() -> None:
    stream = io.StringIO()
    send(stream, {"do": "run", "step": "a\nb"})
    send(stream, {"value": [1, None, Path("x")]})
    assert stream.getvalue().count("\n") == 2
    stream.seek(0)
    assert receive(stream) == {"do": "run", "step": "a\nb"}
    assert receive(stream) == {"value": [1, None, "x"]}
    assert receive(stream) is None
    assert receive(io.StringIO('{"value": 1')) is None, "a half message of a process that died"


def test_sources_survive_the_protocol() -> None:
    assert sources_of(json.loads(json.dumps(asdict(SOURCES)))) == SOURCES


def worker_process(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_worker_that_ends_tells_why(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "resolving\n"
        'Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: a;1]\n'
        "\tat a.b.C.throwException(C.java:1)\n"
        "Traceback (most recent call last):\n"
        "    raise PySparkRuntimeError(\n"
        "pyspark.errors.PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java exited.\n"
    )
    with worker_process("pass") as process, pytest.raises(WorkerError) as raised:
        Client(process, log)
    assert str(raised.value) == (
        "the process ended; its errors:"
        ' Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: a;1];'
        " pyspark.errors.PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java exited."
    )


def test_an_error_of_a_worker_is_raised(tmp_path: Path) -> None:
    program = (
        'import sys; print(\'{"value": {"pyspark": "4"}}\', flush=True);'
        'sys.stdin.readline(); print(\'{"error": "no such table"}\', flush=True)'
    )
    with worker_process(program) as process:
        client = Client(process, tmp_path / "log")
        assert client.versions == {"pyspark": "4"}
        with pytest.raises(WorkerError, match="no such table"):
            client.ask("run", step="x")


def test_an_error_of_the_jvm_is_told_in_brief() -> None:
    error = (
        "Py4JJavaError: An error occurred.\n: a.B: Exception when reading\n\tat a.b.C.d(C.java:1)\n"
        "Caused by: x.Y: in between\n\tat a.b.C.e(C.java:2)\n\t... 3 more\n"
        "Caused by: java.lang.NullPointerException\n\tat java.base/a.b(C.java:2)\n"
    )
    assert brief(error) == (
        "Py4JJavaError: An error occurred. : a.B: Exception when reading"
        " Caused by: java.lang.NullPointerException"
    )


class FakeClient:
    """Answers as a worker would, and can fail."""

    def __init__(
        self, log: list[str], name: str, answer: Callable[[str], object], root: Path
    ) -> None:
        self.processes = None
        self._log, self._name, self._answer, self._root = log, name, answer, root

    def ask(self, do: str, **_: object) -> object:
        if do == "create":
            return str(self._root)
        if do in {"run", "checksum"}:
            self._log.append(f"{self._name} {do}")
            return self._answer(do)
        return None


def contest(root: Path, log: list[str], **answers: Callable[[str], object]) -> Contest:
    members = [
        Member(name=name, client=FakeClient(log, name, answer, root))  # type: ignore[arg-type]
        for name, answer in answers.items()
    ]
    return Contest(members, lambda _: None)


def test_engines_take_turns_and_only_rounds_that_count_are_kept(tmp_path: Path) -> None:
    log: list[str] = []
    found = contest(tmp_path, log, acidsql=lambda _: [1], orc=lambda _: [1])
    step = Step(name="DELETE", statement=Delete(table=TABLE, where="a = 1"))
    found.open(SOURCES)
    found.round("warm-up", [step], counts=False)
    found.round("round 1", [step], counts=True)
    forward = ["acidsql run", "orc run", "acidsql checksum", "orc checksum"]
    assert log == [*forward, "orc run", "acidsql run", "orc checksum", "acidsql checksum"]
    (measured,) = found.results([step])
    assert {name: len(kept) for name, kept in measured.costs.items()} == {"acidsql": 1, "orc": 1}
    assert not found.failures
    assert not found.differences


def test_an_engine_that_fails_is_told_and_takes_no_further_part(tmp_path: Path) -> None:
    def fail(_: str) -> object:
        raise WorkerError("broken")

    log: list[str] = []
    found = contest(tmp_path, log, delta=fail, orc=lambda _: [1])
    read = Step(name="read", statement=Maxima(table=TABLE))
    found.round("warm-up", [read, read], counts=False)
    assert [(f.engine, f.when, f.step, f.message) for f in found.failures] == [
        ("delta", "warm-up", "read", "broken")
    ]
    assert log == ["delta run", "orc run", "orc run"]


def test_only_the_first_difference_of_a_table_is_told(tmp_path: Path) -> None:
    found = contest(tmp_path, [], hudi=lambda do: [do, 2], orc=lambda do: [do, 1])
    all_steps = [
        Step(name="DELETE", statement=Delete(table=TABLE, where="a = 1")),
        Step(name="compact", statement=Compact(table=TABLE)),
        Step(name="read", statement=Maxima(table=TABLE)),
    ]
    found.round("round 1", all_steps, counts=True)
    assert [(d.step, list(d.found)) for d in found.differences] == [("DELETE", ["hudi"])]


def test_bytes_written_are_those_of_new_and_grown_files(tmp_path: Path) -> None:
    for name in ("kept", "grown", "gone"):
        (tmp_path / name).write_bytes(b"12345")
    before = sizes(tmp_path)
    (tmp_path / "grown").write_bytes(b"1234567")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "file").write_bytes(b"123")
    assert written(before, sizes(tmp_path)) == 2 + 3


def test_every_step_has_a_name_of_its_own_and_parts_of_names_choose() -> None:
    every = steps(KEYS)
    assert len({step.name for step in every}) == len(every) == 20
    assert [step.name for step in chosen(every, ["MERGE", "compaction"])] == [
        "INSERT of all rows",
        "MERGE of 1.7 % with all branches",
        "major compaction",
    ]
    assert chosen(every, ()) == every


@pytest.mark.parametrize(
    ("change", "changed", "rewritten"),
    [
        (
            Update(table="t1", column="ss_quantity", value="ss_quantity + 1", where="a = 1"),
            "UPDATE c.t1 SET ss_quantity = ss_quantity + 1 WHERE a = 1",
            "SELECT ss_item_sk, ss_ticket_number,"
            " IF(a = 1, ss_quantity + 1, ss_quantity) AS ss_quantity FROM t1",
        ),
        (
            Delete(table="t1", where="a = 1"),
            "DELETE FROM c.t1 WHERE a = 1",
            "SELECT ss_item_sk, ss_ticket_number, ss_quantity FROM t1 WHERE NOT (a = 1)",
        ),
    ],
)
def test_statements_for_formats_and_for_flat_orc(
    change: Update | Delete, changed: str, rewritten: str
) -> None:
    assert change_sql(change, "c.t1", COLUMNS) == changed
    assert rewritten_sql(change, COLUMNS) == rewritten


def test_merge_has_three_branches() -> None:
    merge = Merge(table="t1", source="rows", deleted="s.ss_item_sk = 3")
    text = change_sql(merge, "t1", COLUMNS)
    for branch in ("= 3 THEN DELETE", "WHEN MATCHED THEN UPDATE SET *", "THEN INSERT *"):
        assert branch in text


def test_groups_are_those_with_a_wanted_peer() -> None:
    def found(*wanted: str) -> list[tuple[str, ...]]:
        return [group.engines for group in registry.groups(wanted)]

    assert found() == [group.engines for group in registry.GROUPS]
    assert found("acidsql", "hudi") == [("acidsql", "hudi")]
    assert found("acidsql", "orc", "delta") == [("acidsql", "orc", "delta")]
    assert found("acidsql", "orc") == [("acidsql", "orc")]


@pytest.mark.tpcds
@pytest.mark.spark
def test_workers_agree(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the engines that need no other jars, with this environment's Spark."""
    monkeypatch.setattr(suite, "environment_python", lambda *_: Path(sys.executable))
    sources = make_sources(data, tmp_path / "sources")
    setup = suite.Setup(
        warm_up=sources,
        measured=sources,
        environments=tmp_path,
        work=tmp_path,
        driver_memory="1g",
    )
    here = registry.Group(pyspark="here", engines=("acidsql", "orc"))
    only = ("UPDATE of 1 row", "MERGE", "compact")
    (found,) = suite.run(setup, [here], rounds=1, only=only)
    assert passed([found]), (found.failures, found.differences)
    assert [step.name for step in found.steps] == [
        "INSERT of all rows",
        "UPDATE of 1 row",
        "MERGE of 1.7 % with all branches",
        "major compaction",
        "max of all columns, compacted",
        "small table: UPDATE of 1 row",
    ]
    for step in found.steps:
        for engine in here.engines:
            (cost,) = step.costs[engine]
            assert cost.sample.cpu > 0
            assert (cost.written is None) == step.name.startswith("max")
            assert cost.written != 0


@pytest.mark.tpcds
@pytest.mark.spark
def test_each_statement_has_a_process_of_its_own(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the engines that need no other jars: a later process finds the table of the first."""
    monkeypatch.setattr(cold, "environment_python", lambda *_: Path(sys.executable))
    sources = make_sources(data, tmp_path / "sources")
    setup = suite.Setup(
        warm_up=sources,
        measured=sources,
        environments=tmp_path,
        work=tmp_path / "work",
        driver_memory="1g",
    )
    here = registry.Group(pyspark="here", engines=("acidsql", "orc"))
    found = cold.run(setup, here, rounds=1, only=["UPDATE of 1 row"])
    assert passed([found]), (found.failures, found.differences)
    assert [step.name for step in found.steps] == ["INSERT of all rows", "UPDATE of 1 row"]
    assert {len(costs) for step in found.steps for costs in step.costs.values()} == {1}
