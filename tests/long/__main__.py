"""Command ``scripts/long``: everything that repeats a rule with other inputs.

Seeds are taken from the date unless one is given. The report of each part is in ``build/long``; the
exit status is 1 if a part failed, and the command that repeats it is printed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.long.parts import PARTS, Part

_REPORTS = Path("build/long")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a part.

    Attributes:
        part: the part.
        command: what repeats it, for a shell.
        seconds: what it took.
        passed: whether nothing was wrong.
        summary: the last line that it printed.
    """

    part: Part
    command: str
    seconds: float
    passed: bool
    summary: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts; return the exit status."""
    options = _parser().parse_args(arguments)
    chosen = [part for part in PARTS if not options.parts or part.name in options.parts]
    print(f"seed {options.seed}: {' '.join(part.name for part in chosen)}", flush=True)
    _REPORTS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    outcomes = [_run(part, options.seed) for part in chosen if part.alone]
    with ThreadPoolExecutor(max_workers=2) as pool:
        others = [part for part in chosen if not part.alone]
        outcomes += pool.map(lambda part: _run(part, options.seed), others)
    for failed in (outcome for outcome in outcomes if not outcome.passed):
        print(f"FAILED {failed.part.name}; to repeat it: {failed.command}")
    print(summary_line(options.seed, outcomes, time.monotonic() - begin))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def summary_line(seed: int, outcomes: Sequence[Outcome], seconds: float) -> str:
    """Return the line that says what ran, and how it ended."""
    failed = [outcome.part.name for outcome in outcomes if not outcome.passed]
    ended = f"failed: {' '.join(failed)}" if failed else "all passed"
    return f"long: seed {seed}, {len(outcomes)} parts in {seconds / 60:.0f} minutes, {ended}"


def _run(part: Part, seed: int) -> Outcome:
    arguments, variables = part.arguments(seed), dict(part.variables(seed))
    assigned = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    command = shlex.join([os.path.relpath(sys.executable), *arguments])
    report = _REPORTS / f"{part.name}.log"
    begin = time.monotonic()
    with report.open("wb") as output:
        done = subprocess.run(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ACIDSQL_REQUIRE": "1", **variables},
            check=False,
        )
    lines = report.read_text(errors="replace").splitlines()
    outcome = Outcome(
        part=part,
        command=" ".join(["SPARK_LOCAL_IP=127.0.0.1", *assigned, command]),
        seconds=time.monotonic() - begin,
        passed=done.returncode == 0,
        summary=next((line for line in reversed(lines) if line.strip()), ""),
    )
    ended = "passed" if outcome.passed else f"FAILED ({done.returncode}), see {report}"
    print(f"{part.name}: {ended} in {outcome.seconds:.0f} s; {outcome.summary}", flush=True)
    return outcome


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/long", description=__doc__)
    names = [part.name for part in PARTS]
    parser.add_argument(
        "parts", nargs="*", metavar="PART", choices=[*names, []], help=", ".join(names)
    )
    today = f"{dt.datetime.now(dt.UTC):%Y%m%d}"
    parser.add_argument("--seed", type=int, default=int(today), help="today's date by default")
    return parser


if __name__ == "__main__":
    sys.exit(main())
