"""Statements of the notebook whose cells ``notebook`` interrupts."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import acidsql
from tests.faults import worker
from tests.faults.checks import open_transactions
from tests.faults.workload import Statement, draw

_SECONDS = 60.0


class Cells:
    """What the cells call.

    Args:
        home: directory of the session.
    """

    def __init__(self, home: Path) -> None:
        self.session = worker.started(home)
        self._statement: Statement | None = None

    def draw(self, seed: int) -> str:
        """Draw the next statement, and return its kind."""
        self._statement = draw(random.Random(seed), self.session.state)
        return self._statement.kind

    @property
    def text(self) -> str:
        """SQL of the statement."""
        return self._drawn().text

    def run(self) -> None:
        """Run the statement."""
        self.session.run(self.text)

    def verdict(self, *, returned: bool) -> str:
        """Return what is wrong after the statement, as JSON.

        Args:
            returned: whether it returned.
        """
        acidsql.release(self.session.spark)
        # One that was left running ends by itself.
        deadline = time.monotonic() + _SECONDS
        while open_transactions(self.session.metastore) and time.monotonic() < deadline:
            time.sleep(0.1)
            acidsql.release(self.session.spark)
        outcome = worker.Outcome(returned=returned, error=None)
        return json.dumps(self.session.verdict(self._drawn(), outcome, errors_may_come_after=True))

    def _drawn(self) -> Statement:
        assert self._statement is not None
        return self._statement
