"""``acidsql demo``: a tour of acidsql.

It changes a small table with every kind of statement. After each statement it prints the counts,
the rows with their row ids, and the table's directories. All files are in a temporary directory.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.names import OWNER_FILE, AcidDirectory, DirectoryKind, parse_directory
from acidsql.repl.printer import result_text, summary
from acidsql.repl.runner import Result, fetch
from acidsql.repl.session import start_session

_TABLE = "employee"
_MOST_ROWS = 100
_WIDTH = 78


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Statement of the tour, with a remark about its result."""

    text: str
    remark: str


STEPS = (
    Step(
        text="""\
CREATE TABLE employee (id INT, name STRING, salary INT)
STORED AS ORC TBLPROPERTIES ('transactional' = 'true')""",
        remark="An ACID table is an ORC table with one property. Its directory is empty.",
    ),
    Step(
        text="""\
INSERT INTO employee VALUES
  (1, 'Jerry', 5000), (2, 'Tom', 8000), (3, 'Kate', 6000), (5, 'Paul', 4500)""",
        remark="A write gets the table's next write id and a directory of its own. Every row\n"
        "has an identity: row__id = {write id, bucket property, row id}.",
    ),
    Step(
        text="UPDATE employee SET salary = 7000 WHERE id = 2",
        remark="Nothing is overwritten: one directory names the row that is gone, another holds\n"
        "the new one, which has a new row__id.",
    ),
    Step(
        text="DELETE FROM employee WHERE id = 5",
        remark="A DELETE only names the rows that are gone.",
    ),
    Step(
        text="""\
CREATE TEMPORARY VIEW employee_update AS
SELECT * FROM VALUES (1, 'Jerry', NULL), (2, 'Tom', 7500), (4, 'Mary', 9000)
AS v (id, name, salary)""",
        remark="Statements that are not about ACID tables are Spark's own.",
    ),
    Step(
        text="""\
MERGE INTO employee AS a
USING employee_update AS b ON a.id = b.id
WHEN MATCHED AND b.salary IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET salary = b.salary
WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.name, b.salary)
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET salary = a.salary + 100""",
        remark="One transaction, one write id. Each WHEN clause has a statement id of its own,\n"
        "the last number in the names.",
    ),
    Step(
        text="ALTER TABLE employee COMPACT 'minor' AND WAIT",
        remark="A minor compaction merges the deltas and keeps every event. No reader needs the\n"
        "old directories any more, so they are removed.",
    ),
    Step(
        text="ALTER TABLE employee COMPACT 'major' AND WAIT",
        remark="A major compaction keeps only the rows that are left, in one base, with the\n"
        "row__id that they had before.",
    ),
)
"""Statements of the tour, in order."""

_NEXT = """\
Where to go next
  acidsql                          the shell: SQL, history, completion (acidsql --help)
  acidsql.sql(spark, "UPDATE …")   the same from Python
  \\h MERGE                         in the shell: how a statement is written
  https://github.com/acidsql/acidsql/blob/main/docs/index.md
                                   tutorial, reference, and how it works
"""


def show() -> None:
    """Run the tour and print it to standard output; exit with 1 if Spark does not start."""
    print("Hive ACID tables with Spark. Starting Spark …", flush=True)
    with tempfile.TemporaryDirectory(prefix="acidsql-demo-") as directory:
        options = {"spark.sql.shuffle.partitions": "2"}
        warehouse = Path(directory) / "warehouse"
        try:
            spark = start_session(master="local[2]", warehouse=warehouse, conf=options)
        except (PySparkException, OSError) as error:
            sys.exit(f"error: Spark did not start: {summary(error)}")
        try:
            for number, step in enumerate(STEPS, start=1):
                _show(spark, number, step)
        finally:
            spark.stop()
    print(_rule(), _NEXT, sep="\n", end="")


def _show(spark: SparkSession, number: int, step: Step) -> None:
    """Run a step and print its result."""
    print(_rule(f"{number} of {len(STEPS)}"), step.text + ";", "", sep="\n", flush=True)
    answer = outcome(fetch(acidsql.sql(spark, step.text), _MOST_ROWS))
    if answer:
        print(answer, end="\n\n")
    print(step.remark, end="\n\n")
    if _TABLE not in step.text.split():
        return
    rows = acidsql.sql(spark, f"SELECT row__id, * FROM {_TABLE} ORDER BY id")
    print(result_text(fetch(rows, _MOST_ROWS), "table"))
    root = Path(unquote(urlparse(acidsql.location(spark, _TABLE)).path))
    print(*tree(root), "", sep="\n", flush=True)
    # The rows are fetched, so compactions need not retain old directories for the DataFrame.
    acidsql.release(spark)


def outcome(result: Result) -> str:
    """Return the counts of a statement, or the states of its compactions; "" if it has none."""
    cells = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    if "state" in result.columns:
        return "\n".join(f"{row['type']} compaction: {row['state']}" for row in cells)
    return "\n".join(", ".join(f"{name} = {n}" for name, n in row.items()) for row in cells)


def tree(root: Path) -> Iterator[str]:
    """Yield the lines of a table's directory tree, with the meaning of each ACID directory."""
    lines = list(_lines(root, ""))
    width = max((len(drawn) for drawn, _ in lines), default=0)
    yield f"{root.name}/"
    for drawn, meaning in lines:
        yield f"{drawn:<{width}}   {meaning}".rstrip()


def _lines(directory: Path, indent: str) -> Iterator[tuple[str, str]]:
    visible = (entry for entry in directory.iterdir() if entry.name != OWNER_FILE)
    entries = sorted(visible, key=lambda entry: _order(entry.name))
    for position, entry in enumerate(entries, start=1):
        last = position == len(entries)
        parsed = parse_directory(entry.name)
        slash = "/" if entry.is_dir() else ""
        yield f"{indent}{'└── ' if last else '├── '}{entry.name}{slash}", _meaning(parsed)
        if entry.is_dir():
            yield from _lines(entry, indent + ("    " if last else "│   "))


def _order(name: str) -> tuple[int, int, str]:
    """Return the sort key of a name: by write id and statement id, delete deltas first."""
    parsed = parse_directory(name)
    if parsed is None:
        return (0, 0, name)
    return (parsed.min_write_id, parsed.statement_id or 0, name)


def _meaning(directory: AcidDirectory | None) -> str:
    if directory is None:
        return ""
    low, high = directory.min_write_id, directory.max_write_id
    if directory.kind is DirectoryKind.BASE:
        return f"all rows up to write id {high}"
    what = "rows deleted" if directory.kind is DirectoryKind.DELETE_DELTA else "rows written"
    if low != high:
        return f"{what} by write ids {low} to {high}"
    return f"{what} by write id {low}, statement {directory.statement_id or 0}"


def _rule(title: str = "") -> str:
    return f"── {title} ".ljust(_WIDTH, "─") if title else "─" * _WIDTH
