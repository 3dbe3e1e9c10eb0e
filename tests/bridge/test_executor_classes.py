"""Tests of Java classes that tasks run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from acidsql.bridge import executor_classes
from acidsql.bridge.executor_classes import executor_class, new_object

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_TEXTS = {
    "acidsql/example/One.java": """package acidsql.example;
public class One { private final int number;
  public One(int number) { this.number = number; }
  public String said() { return Two.of(number); } }""",
    "acidsql/example/Two.java": """package acidsql.example;
final class Two { static String of(int number) { return "number " + number; } }""",
}


def _texts(_: str) -> Mapping[str, str]:
    return _TEXTS


@pytest.mark.slow
def test_the_sources_of_a_package_are_compiled_together(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_classes, "package_texts", _texts)
    assert new_object(spark, "example", "One", 7).said() == "number 7"
    found = executor_class(spark, "example", "One")
    assert found.equals(executor_class(spark.newSession(), "example", "One"))
    loader = found.getClassLoader()
    # A loader that is made for a session, or for a task in local mode, finds the same class.
    assert loader.getClass().getSimpleName().endswith("MutableURLClassLoader")
