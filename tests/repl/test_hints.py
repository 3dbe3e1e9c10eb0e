"""Tests of hints on errors."""

from __future__ import annotations

from pyspark.errors import PySparkException

from acidsql.errors import AcidAnalysisError, condition_page
from acidsql.repl.hints import page_hint


def test_an_error_leads_to_its_section() -> None:
    error = AcidAnalysisError("MERGE_CARDINALITY_VIOLATION", "two rows match one")
    assert page_hint(error) == f"see {condition_page('MERGE_CARDINALITY_VIOLATION')}"
    assert page_hint(PySparkException("an error of Spark's")) is None
    assert page_hint(ValueError("another error")) is None
