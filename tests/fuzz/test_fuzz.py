"""Short forms of the fuzzers; those that look at Spark are marked as repeated."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from tests.fuzz.__main__ import main
from tests.fuzz.target import Target, play
from tests.fuzz.targets import TARGETS

_QUICK = [target for target in TARGETS.values() if not target.is_slow]


@pytest.mark.parametrize("target", _QUICK, ids=lambda target: target.name)
def test_a_few_inputs(target: Target) -> None:
    with target.around():
        found = play(target, 20_241_101, 30)
    assert found.error is None, found.failing
    assert found.inputs >= 25


@pytest.mark.spark
@pytest.mark.repeated
@pytest.mark.usefixtures("spark")
def test_a_few_strange_files() -> None:
    target = TARGETS["files"]
    with target.around():
        found = play(target, 20_241_101, 15)
    assert found.error is None, found.failing


def test_a_failure_is_told_with_its_seed_and_its_smallest_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(drawn: list[int]) -> None:
        if len(drawn) > 1 and drawn[0] > 3:
            raise ValueError(drawn)

    broken = Target(name="names", summary="", inputs=st.lists(st.integers()), check=check)
    monkeypatch.setitem(TARGETS, "names", broken)
    assert main(["names", "--minutes", "0", "--seed", "7"]) == 1
    assert "FAILED names --seed 7 --minutes 0\ninput: [4, 0]\n" in capsys.readouterr().out
    whole = Target(name="names", summary="", inputs=st.none(), check=lambda _: None)
    monkeypatch.setitem(TARGETS, "names", whole)
    assert main(["names", "--minutes", "0", "--seed", "7"]) == 0
