"""Plugin of pytest that writes how long each test took.

It works where ``ACIDSQL_DURATIONS`` names a directory: the process that started the others writes
one file there, named after ``ACIDSQL_LANE``, with a line per test (see ``times.Times``).
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path

import pytest

from tests.durations.times import Lane, Times, write_lane


class DurationsRecorder:
    """Adds up the setup, the call and the teardown of each test."""

    def __init__(self, place: Path, lane: str, markers: frozenset[str]) -> None:
        self._place, self._lane, self._markers = place, lane, markers
        self._began = time.monotonic()
        self._seconds: dict[str, float] = defaultdict(float)
        self._marked: dict[str, tuple[str, ...]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        self._seconds[report.nodeid] += report.duration
        self._marked[report.nodeid] = tuple(sorted(self._markers.intersection(report.keywords)))

    def pytest_sessionfinish(self) -> None:
        """Write the file of the lane."""
        tests = tuple(
            Times(test=test, seconds=round(seconds, 3), markers=self._marked[test])
            for test, seconds in sorted(self._seconds.items())
        )
        seconds = round(time.monotonic() - self._began, 1)
        write_lane(self._place, Lane(name=self._lane, seconds=seconds, tests=tests))


def register(config: pytest.Config) -> None:
    """Register the recorder, unless this is a worker of pytest-xdist or no place is named."""
    place = os.environ.get("ACIDSQL_DURATIONS")
    if not place or hasattr(config, "workerinput"):
        return
    names = (line.partition(":")[0].partition("(")[0] for line in config.getini("markers"))
    markers = frozenset(names) - {"sample"}
    lane = os.environ.get("ACIDSQL_LANE", "default")
    config.pluginmanager.register(DurationsRecorder(Path(place), lane, markers))
