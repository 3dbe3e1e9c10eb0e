"""Short form of the campaign of kills."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.campaign import report, violations
from tests.faults.kill_cases import CASES
from tests.faults.kill_plan import HITS, cells, plan
from tests.faults.kill_steps import COMMITS_AND_RENAMES, RANDOM, recorded
from tests.faults.kills import campaign


def test_each_statement_has_recorded_steps() -> None:
    """Otherwise: ``python -m tests.faults.record_kills``."""
    assert set(recorded()) == {case.name for case in CASES}
    kinds = {case.kind for case in CASES}
    assert {kind for step, kind in cells() if step == RANDOM} == kinds
    assert {kind for step, kind in cells() if step == "returned"} == kinds


def test_half_of_the_shots_are_around_commits_and_renames_and_fill_each_cell() -> None:
    hits = dict.fromkeys(cells(), 0)
    near = 0
    count = 0
    while min(hits.values()) < HITS:
        made = plan(count)
        hits[made.step, made.case.kind] += 1
        near += made.step in COMMITS_AND_RENAMES
        count += 1
    assert 0.48 < near / count < 0.52
    assert plan(17) == plan(17)


@pytest.mark.faults
def test_killed_statements_have_happened_or_not_and_the_next_process_goes_on(
    tmp_path: Path,
) -> None:
    several = [seed for seed in range(1000) if plan(seed).case.kind == "transaction"]
    with campaign(tmp_path) as opened:
        found = [opened.fault(seed) for seed in sorted({*range(8), *several[:2]})]
    assert [fault.violation for fault in violations(found)] == []
    assert sum(fault.struck for fault in found) >= 8, report(found)
