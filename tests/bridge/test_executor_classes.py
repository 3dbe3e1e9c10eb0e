"""Tests of Java classes that tasks run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from acidsql.bridge import executor_classes
from acidsql.bridge.executor_classes import maker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_TEXTS = {
    "acidsql/example/One.java": """package acidsql.example;
public class One { public Two two(int number) { return new Two(number); } }""",
    "acidsql/example/Two.java": """package acidsql.example;
public final class Two { private final int number;
  Two(int number) { this.number = number; }
  public String said() { return "number " + number; } }""",
}


def _texts(_: str) -> Mapping[str, str]:
    return _TEXTS


@pytest.mark.slow
def test_the_sources_of_a_package_are_compiled_together(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_classes, "package_texts", _texts)
    found = maker(spark, "example", "One")
    assert found.two(7).said() == "number 7"
    assert found.equals(maker(spark.newSession(), "example", "One"))
    loader = found.getClass().getClassLoader()
    # A loader that is made for a session, or for a task in local mode, finds the same class.
    assert loader.getClass().getSimpleName().endswith("MutableURLClassLoader")
