"""The conditions of errors, which PySpark 3.5 has under another name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from tests.product.conftest import Lab


def condition(lab: Lab, text: str) -> str:
    """The condition with which a statement fails."""
    with pytest.raises(PySparkException) as caught:
        lab.sql(text)
    return condition_of(caught.value)


def condition_of(error: Any) -> str:
    """The condition of an error of acidsql or of PySpark."""
    named = error.getCondition if hasattr(error, "getCondition") else error.getErrorClass
    return str(named())
