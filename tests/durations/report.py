"""Report of what the tests took: per lane and marker, the slowest, and what grew too long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.durations.times import Lane, Recorded, summed

# Seconds that a lane may take on two processors with nothing else to do, or beside the lane that
# runs at the same time. `.ci/run` as a whole has 45 minutes, `scripts/test` five.
BUDGETS: Mapping[str, float] = {
    "default": 300,
    "slow": 480,
    "oldest": 240,
    "hive": 900,
    "faults": 600,
    "packaging": 300,
    "servers": 1500,
}
_TOLERANCE = 1.25
_SLOWEST = 40
_GREW_SECONDS = 1.0
_MOST_GROWN = 15


def report(lanes: Sequence[Lane], recorded: Mapping[str, Recorded]) -> Iterator[str]:
    """Yield the lines of the report on a run.

    Args:
        lanes: what ran.
        recorded: the table of the repository, by lane.
    """
    yield f"{'lane':<12}{'tests':>7}{'seconds':>9}{'of tests':>10}{'budget':>8}{'recorded':>10}"
    for lane in lanes:
        before = recorded.get(lane.name)
        yield (
            f"{lane.name:<12}{len(lane.tests):>7}{lane.seconds:>9.0f}"
            f"{sum(t.seconds for t in lane.tests):>10.0f}{BUDGETS.get(lane.name, 0):>8.0f}"
            f"{before.seconds if before else 0:>10.0f}"
        )
    yield ""
    yield f"{'marker':<12}{'tests':>7}{'of tests':>10}"
    yield from _markers(lanes)
    yield ""
    yield f"the {_SLOWEST} slowest tests, seconds"
    slowest = sorted((-t.seconds, t.test) for lane in lanes for t in lane.tests)[:_SLOWEST]
    yield from (f"{-seconds:>7.1f} {test}" for seconds, test in slowest)
    yield from _warnings(lanes, recorded)


def _markers(lanes: Iterable[Lane]) -> Iterator[str]:
    marked = [(m, t.seconds) for lane in lanes for t in lane.tests for m in t.markers or ("none",)]
    counts = summed((marker, 1) for marker, _ in marked)
    for marker, seconds in sorted(summed(marked).items(), key=lambda pair: -pair[1]):
        yield f"{marker:<12}{counts[marker]:>7.0f}{seconds:>10.0f}"


def _warnings(lanes: Iterable[Lane], recorded: Mapping[str, Recorded]) -> Iterator[str]:
    for lane in lanes:
        budget = BUDGETS.get(lane.name)
        if budget is None or lane.seconds <= budget * _TOLERANCE:
            continue
        yield ""
        yield f"WARNING: {lane.name} took {lane.seconds:.0f} s, its budget is {budget:.0f} s"
        before = recorded.get(lane.name)
        grown = grown_tests(lane, before) if before else []
        yield from (f"{grew:>+7.1f} s {test}" for test, grew in grown[:_MOST_GROWN])


def grown_tests(lane: Lane, before: Recorded) -> list[tuple[str, float]]:
    """Return the functions that take longer than recorded, with the seconds, most first.

    A function that has no line in the table is new, or took next to nothing.
    """
    grown = (
        (function, seconds - before.functions.get(function, 0.0))
        for function, seconds in lane.functions.items()
    )
    return sorted((p for p in grown if p[1] >= _GREW_SECONDS), key=lambda p: (-p[1], p[0]))
