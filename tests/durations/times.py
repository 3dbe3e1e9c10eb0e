"""Times of tests, and the files that keep them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

# A function whose tests take less than this together has no line in the table.
_LEAST_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Time of one test, with what its fixtures took.

    Attributes:
        test: node id of pytest.
        seconds: setup, call and teardown together.
        markers: those of ``pyproject.toml`` that it has.
    """

    test: str
    seconds: float
    markers: tuple[str, ...] = ()

    @property
    def function(self) -> str:
        """Node id without parameters."""
        return self.test.partition("[")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What one call of pytest took.

    Attributes:
        name: name of the lane, as in ``budgets.BUDGETS``.
        seconds: from its start to its end.
        tests: its tests.
    """

    name: str
    seconds: float
    tests: tuple[Times, ...]

    @property
    def functions(self) -> dict[str, float]:
        """Seconds of each test function, with all parameters."""
        return summed((test.function, test.seconds) for test in self.tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Lane in the table of the repository.

    Attributes:
        seconds: what it took.
        functions: seconds of each function that took a while.
    """

    seconds: float
    functions: Mapping[str, float]


def summed(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Add the numbers of each name."""
    sums: dict[str, float] = defaultdict(float)
    for name, number in pairs:
        sums[name] += number
    return dict(sums)


def write_lane(place: Path, lane: Lane) -> None:
    """Write the file of a lane into a directory, which is made if need be."""
    place.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"lane": lane.name, "seconds": lane.seconds})]
    lines += [
        json.dumps({"test": t.test, "seconds": t.seconds, "markers": t.markers}) for t in lane.tests
    ]
    (place / f"{lane.name}.jsonl").write_text("\n".join(lines) + "\n")


def read_lanes(place: Path) -> list[Lane]:
    """Read the files of all lanes in a directory, in the order of their names."""
    return [_read_lane(path) for path in sorted(place.glob("*.jsonl"))]


def _read_lane(path: Path) -> Lane:
    head, *tests = (json.loads(line) for line in path.read_text().splitlines())
    return Lane(
        name=head["lane"],
        seconds=head["seconds"],
        tests=tuple(
            Times(test=t["test"], seconds=t["seconds"], markers=tuple(t["markers"])) for t in tests
        ),
    )


def table_of(lanes: Iterable[Lane]) -> str:
    """Return the table of the repository: a line per lane, then one per function that is slow."""
    lines = ["lane\tseconds\ttest"]
    for lane in lanes:
        lines.append(f"{lane.name}\t{lane.seconds:.0f}\t")
        slow = [(s, f) for f, s in lane.functions.items() if s >= _LEAST_SECONDS]
        lines += [
            f"{lane.name}\t{s:.1f}\t{f}" for s, f in sorted(slow, key=lambda p: (-p[0], p[1]))
        ]
    return "\n".join(lines) + "\n"


def parse_table(text: str) -> dict[str, Recorded]:
    """Parse the table of the repository: the record of each lane."""
    lanes: dict[str, float] = {}
    functions: dict[str, dict[str, float]] = defaultdict(dict)
    for line in text.splitlines()[1:]:
        lane, seconds, test = line.split("\t")
        if test:
            functions[lane][test] = float(seconds)
        else:
            lanes[lane] = float(seconds)
    return {
        lane: Recorded(seconds=seconds, functions=functions[lane])
        for lane, seconds in lanes.items()
    }
