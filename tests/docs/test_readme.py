"""README's Python session does what README shows."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql

_README = Path(__file__).parents[2] / "README.md"


def sessions() -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```$", _README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


@pytest.fixture
def database(spark: SparkSession) -> Iterator[SparkSession]:
    acidsql.sql(spark, "CREATE DATABASE readme")
    acidsql.sql(spark, "USE readme")
    yield spark
    acidsql.sql(spark, "USE default")
    acidsql.sql(spark, "DROP DATABASE readme CASCADE")


@pytest.mark.spark
def test_python_session(database: SparkSession) -> None:
    assert database is not None
    (text,) = sessions()
    session = doctest.DocTestParser().get_doctest(text, {}, "README.md", str(_README), 0)
    assert len(session.examples) >= 6
    report: list[str] = []
    # Spark prints an empty line after a table.
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    failed = runner.run(session, out=report.append).failed
    assert failed == 0, "".join(report)
