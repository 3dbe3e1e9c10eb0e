"""Tests that run the examples of the pages, and of the docstrings of public names."""

from __future__ import annotations

import doctest
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql import merge_builder, table_builders
from acidsql.session.acid_session import AcidSession
from tests.docs import pages

_ROOT = Path(__file__).parents[2]
_FIRST_PAGE = "README.md"
_OTHER_PAGES = (
    "docs/tutorial.md",  # before the others: it shows transaction ids
    "docs/concepts.md",
    "docs/cookbook.md",
    "docs/transactions.md",
    "docs/time-travel.md",
    "docs/change-feed.md",
    "docs/structured-streaming.md",
    "docs/check.md",
    "docs/dialects.md",
    "docs/enable.md",
    "docs/db-api.md",
    "docs/notebook.md",
    "docs/streaming.md",
    "docs/arrow.md",
    "docs/formats.md",
    "docs/reference/statements.md",
    "docs/reference/python.md",
    "docs/reference/settings.md",
    "docs/reference/conditions.md",
    "docs/troubleshooting.md",
)
_SECONDS = 600
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BUILDERS = (acidsql.AcidTable, merge_builder.MergeBuilder, table_builders.OptimizeBuilder)


def public() -> Iterator[tuple[str, object]]:
    """Yield the public functions and classes, and the methods of the classes, by name."""
    for name in acidsql.__all__:
        if not (inspect.isclass(value := getattr(acidsql, name)) and issubclass(value, Exception)):
            yield name, value
    for builder in _BUILDERS:
        yield builder.__name__, builder
        for name, value in vars(builder).items():
            called = inspect.isfunction(value) or isinstance(value, classmethod)
            if called and not name.startswith("_"):
                yield f"{builder.__name__}.{name}", getattr(builder, name)


_PAGE = """a
```sql
SELECT 1
```

```text
1
```

<!-- not run: b -->
```console
$ c
```

```bash
d
```

```python
e
```
"""


def test_parts_of_a_page() -> None:
    assert [(e.kind, e.text, e.line, e.answer, e.reason) for e in pages.examples(_PAGE)] == [
        ("sql", "SELECT 1\n", 3, "1\n", None),
        ("console", "$ c\n", 12, None, "b"),
        ("python", "e\n", 20, None, None),
    ]


@pytest.mark.parametrize("page", sorted(_ROOT.glob("docs/**/*.md")), ids=lambda page: page.stem)
def test_every_page_with_examples_is_run(page: Path) -> None:
    name = page.relative_to(_ROOT).as_posix()
    runs = [e for e in pages.examples(page.read_text("utf-8")) if e.reason is None]
    assert not runs or name in _OTHER_PAGES


def run(directory: Path, names: Sequence[str]) -> None:
    """Run pages in a directory, as somebody would who begins in it."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.pages", *[str(_ROOT / name) for name in names]],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        cwd=directory,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(_ROOT),
            "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false "
            "--conf spark.sql.shuffle.partitions=2 pyspark-shell",
            "LC_ALL": "C",
        },
        check=False,
    )
    assert done.returncode == 0, done.stdout or done.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_first_page(tmp_path: Path) -> None:
    run(tmp_path, [_FIRST_PAGE])


@pytest.mark.repeated
def test_other_pages(tmp_path: Path) -> None:
    run(tmp_path, _OTHER_PAGES)


@pytest.fixture
def pets(spark: SparkSession, tmp_path: Path) -> Iterator[dict[str, object]]:
    """Yield the names that the examples of docstrings use; their relative paths are below
    ``tmp_path``.
    """
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.get(spark.sparkContext._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(hadoop.Path(tmp_path.as_uri()))
    # Checkpoints of streams are resolved by another class of Hadoop's.
    system = spark.sparkContext._jvm.java.lang.System
    directory = system.setProperty("user.dir", str(tmp_path))
    acidsql.sql(spark, "CREATE DATABASE examples")
    acidsql.sql(spark, "USE examples")
    orc = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    acidsql.sql(spark, f"CREATE TABLE pet (id INT, name STRING) {orc}")
    acidsql.sql(spark, "INSERT INTO pet VALUES (1, 'Rex')")
    acidsql.sql(spark, "INSERT INTO pet VALUES (2, 'Tom')")
    yield {
        "spark": spark,
        "acidsql": acidsql,
        "AcidTable": acidsql.AcidTable,
        "metastore": AcidSession.of(spark).settings.metastore,
    }
    acidsql.sql(spark, "USE default")
    acidsql.sql(spark, "DROP DATABASE examples CASCADE")
    files.setWorkingDirectory(before)
    system.setProperty("user.dir", directory)


@pytest.mark.repeated
@pytest.mark.spark
@pytest.mark.parametrize(("name", "value"), dict(public()).items())
def test_public_name_has_an_example_that_runs(
    name: str, value: object, pets: dict[str, object]
) -> None:
    text = inspect.getdoc(value) or ""
    session = doctest.DocTestParser().get_doctest(text, pets, name, None, None)
    assert session.examples, f"{name} has no example"
    report: list[str] = []
    doctest.DocTestRunner(optionflags=_FLAGS).run(session, out=report.append)
    assert not report, "".join(report)


def test_builders_are_those_of_the_reference() -> None:
    page = (_ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    for name, _ in public():
        owner, _, method = name.partition(".")
        assert re.search(rf"\b{method or owner}\b", page), name
