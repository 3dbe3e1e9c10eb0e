from __future__ import annotations

import re

import pytest

from acidsql.sqlstates import SQLSTATES, sqlstate
from tests import spark_conditions


@pytest.mark.parametrize("state", sorted(set(SQLSTATES.values())))
def test_a_sqlstate_has_a_class_and_a_subclass(state: str) -> None:
    assert re.fullmatch(r"[0-9A-Z]{5}", state)
    assert state[:2] not in ("00", "01", "02")  # success, warnings, no data


def test_sparks_conditions_have_sparks_sqlstates() -> None:
    own = {name: s for name, s in spark_conditions.sqlstates().items() if name in SQLSTATES}
    assert len(own) > 15
    assert {name: SQLSTATES[name] for name in own} == own


def test_a_subclass_shares_the_sqlstate_of_its_condition() -> None:
    assert sqlstate("UNSUPPORTED_FEATURE.OR_REPLACE") == "0A000"
    assert sqlstate("NO_SUCH_CONDITION") is None
