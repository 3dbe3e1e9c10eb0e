"""Conditions of errors, for which PySpark 3.5 has another name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from tests.product.conftest import Lab


def condition(lab: Lab, text: str) -> str:
    """Run a statement that must fail; return its condition."""
    with pytest.raises(PySparkException) as caught:
        lab.sql(text)
    return condition_of(caught.value)


def condition_of(error: Any) -> str:
    """Return the condition of an error of acidsql or of PySpark."""
    named = error.getCondition if hasattr(error, "getCondition") else error.getErrorClass
    return str(named())
