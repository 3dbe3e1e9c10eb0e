from __future__ import annotations

import json
import re
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

from acidsql.sqlstates import SQLSTATES, sqlstate


def sparks_own() -> dict[str, str | None]:
    """The conditions of the Spark that is installed, and their SQLSTATEs."""
    (jar,) = Path(pyspark.__path__[0], "jars").glob("spark-common-utils_*.jar")
    with ZipFile(jar) as files:
        names = set(files.namelist()) & {"error/error-conditions.json", "error/error-classes.json"}
        conditions = json.loads(files.read(max(names)))  # 4.x keeps the old name for something else
    return {name: condition.get("sqlState") for name, condition in conditions.items()}


@pytest.mark.parametrize("state", sorted(set(SQLSTATES.values())))
def test_a_sqlstate_has_a_class_and_a_subclass(state: str) -> None:
    assert re.fullmatch(r"[0-9A-Z]{5}", state)
    assert state[:2] not in ("00", "01", "02")  # success, warnings, no data


def test_sparks_conditions_have_sparks_sqlstates() -> None:
    own = {name: state for name, state in sparks_own().items() if state and name in SQLSTATES}
    assert len(own) > 15
    assert {name: SQLSTATES[name] for name in own} == own


def test_a_subclass_shares_the_sqlstate_of_its_condition() -> None:
    assert sqlstate("UNSUPPORTED_FEATURE.OR_REPLACE") == "0A000"
    assert sqlstate("NO_SUCH_CONDITION") is None
