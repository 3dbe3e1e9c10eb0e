"""Contenders take turns, and only rounds after the warm-up count."""

from __future__ import annotations

import time

import pytest

from tpcds_bench.measure import WARM_UP, Contender, Duel, Sample, duel


def test_contenders_take_turns_and_are_prepared() -> None:
    log: list[str] = []

    def contender(name: str) -> Contender:
        return Contender(
            prepare=lambda number: log.append(f"prepare {name}{number}"),
            run=lambda number: log.append(f"{name}{number}"),
        )

    rounds = 2
    result = duel(contender("a"), contender("b"), rounds=rounds, progress=lambda: None)
    expected = []
    for number in range(WARM_UP + rounds):
        for name in "ab" if number % 2 else "ba":
            expected += [f"prepare {name}{number}", f"{name}{number}"]
    assert log == expected
    assert len(result.subject) == len(result.yardstick) == rounds


def test_preparation_is_not_timed_and_processor_time_is_counted() -> None:
    def burn(_: int) -> None:
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass

    result = duel(
        Contender(prepare=lambda _: time.sleep(0.3), run=lambda _: None),
        Contender(run=burn),
        rounds=1,
        progress=lambda: None,
    )
    assert result.subject[0].wall < 0.2
    assert result.yardstick[0].cpu >= 0.08


def test_ratios_are_paired_by_round() -> None:
    result = Duel(
        subject=(Sample(wall=2, cpu=1), Sample(wall=9, cpu=1), Sample(wall=1, cpu=1)),
        yardstick=(Sample(wall=1, cpu=2), Sample(wall=3, cpu=0), Sample(wall=1, cpu=4)),
    )
    assert result.wall_ratios == pytest.approx((2, 3, 1))
    assert result.wall_ratio == pytest.approx(2)
    assert result.cpu_ratio == pytest.approx(0.25)
