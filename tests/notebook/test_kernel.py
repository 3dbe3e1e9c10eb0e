"""A notebook: a real kernel and the messages from which a front end draws the cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernel import Kernel, Message, started

pytestmark = [pytest.mark.repeated, pytest.mark.spark]

_SET_UP = """\
import time
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.warehouse.dir", "warehouse")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
spark.udf.register("slept", lambda i, seconds: (time.sleep(seconds), i)[1], "int")
%load_ext acidsql
"""
_PETS = """\
%%acidsql
CREATE TABLE pet (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO pet VALUES (1, 'Rex'), (2, 'a<b')
"""
_BAR = re.compile(r'<progress value="(\d)" max="(\d)"></progress> (\d) of (\d) tasks, 00:\d\d')
_NOTHING = {"text/plain": "", "text/html": ""}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def kernel(home: Path) -> Iterator[Kernel]:
    with started(home) as made:
        made.run(_SET_UP)
        inserted = made.run(_PETS)[-1]
        assert "| num_affected_rows |" in inserted.data["text/plain"].replace("  ", " ")
        yield made


def files(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in (home / "warehouse").rglob("*"))


def test_the_last_result_is_a_table(kernel: Kernel) -> None:
    result = kernel.answer("%%acidsql --limit 1\nSELECT 1;\nSELECT name FROM pet ORDER BY id DESC")
    assert result.kind == "execute_result"
    assert result.data == {
        "text/plain": (
            "+------+\n| name |\n|------|\n| a<b  |\n+------+\n"
            "first 1 rows; there are more (change this with --limit)"
        ),
        "text/html": (
            '<table class="dataframe">\n<thead>\n'
            '<tr><th style="text-align: left">name</th></tr>\n</thead>\n<tbody>\n'
            '<tr><td style="text-align: left">a&lt;b</td></tr>\n</tbody>\n</table>\n'
            "<p>first 1 rows; there are more (change this with --limit)</p>"
        ),
    }


def test_a_line_and_a_variable(kernel: Kernel) -> None:
    messages = kernel.run("%acidsql pets << SELECT count(*) AS n FROM pet")
    assert [m for m in messages if m.display is None] == []
    assert kernel.text("pets.collect()") == "[Row(n=2)]"
    assert kernel.text("shown = %acidsql SELECT id FROM pet WHERE id < 2\nshown.rows") == "((1,),)"


@pytest.mark.parametrize(
    ("statement", "name", "shown"),
    [
        (
            "ALTER TABLE pet\n  COMPACT 'now'",
            "AcidAnalysisError",
            ["error: [INVALID_COMPACTION_TYPE] "],
        ),
        (
            "SELECT *\nFROM pet WHERE nam = 1",
            "AnalysisException",
            [
                "error: [UNRESOLVED_COLUMN.WITH_SUGGESTION] ",
                "FROM pet WHERE nam = 1",
                " " * 15 + "^",
            ],
        ),
        (
            "SELECT id / 0 AS x FROM pet",
            "ArithmeticException",
            ["error: [DIVIDE_BY_ZERO] ", "SELECT id / 0 AS x FROM pet", "       ^"],
        ),
    ],
)
def test_an_error_is_its_condition_and_place(
    kernel: Kernel, statement: str, name: str, shown: list[str]
) -> None:
    error = kernel.answer(f"%%acidsql\n{statement};\nDROP TABLE pet")
    assert (error.kind, error.content["ename"]) == ("error", name)
    lines = error.content["traceback"]
    assert len(lines) == len(shown)
    assert lines[0].startswith(shown[0])
    assert lines[1:] == shown[1:]


def test_progress_is_shown_and_taken_away(kernel: Kernel) -> None:
    messages = kernel.run("%acidsql SELECT count(slept(id, 1)) AS n FROM range(0, 8, 1, 4)")
    *bars, gone, result = messages
    assert [m.kind for m in bars] == ["display_data", *["update_display_data"] * (len(bars) - 1)]
    assert len({m.display for m in [*bars, gone]}) == 1
    assert (gone.kind, gone.data) == ("update_display_data", _NOTHING)
    places = [_BAR.fullmatch(m.data["text/html"]) for m in bars]
    counts = [(int(p[1]), int(p[2])) for p in places if p]
    assert len(counts) == len(bars) > 1
    assert counts == sorted(counts)
    assert counts[0][0] < counts[-1][0] <= counts[-1][1]
    assert all("tasks 00:0" in m.data["text/plain"] for m in bars)
    assert "| 8 |" in result.data["text/plain"]


def test_an_interrupt_cancels_the_statement_and_its_transaction(kernel: Kernel, home: Path) -> None:
    before = files(home)

    def interrupt(message: Message) -> None:
        if message.kind == "display_data":  # its job runs
            kernel.interrupt()

    update = "UPDATE pet SET id = slept(id, 60)"
    *_, gone, error = kernel.run(f"%%acidsql\n{update};\nDROP TABLE pet", interrupt)
    assert gone.data == _NOTHING
    assert (error.kind, error.content["ename"]) == ("error", "KeyboardInterrupt")
    assert error.content["traceback"] == ["cancelled"]
    assert kernel.text("%acidsql SHOW LOCKS").endswith("\n0 rows")
    assert files(home) == before
    assert kernel.text("shown = %acidsql SELECT min(id) FROM pet\nshown.rows") == "((1,),)"
    assert kernel.text("spark.range(3).count()") == "3"
