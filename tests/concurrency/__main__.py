"""Command of the concurrency soak: ``python -m tests.concurrency --minutes M --seed S``.

Writers, readers and compactors work on shared tables; a checker replays what they did. It exits
with 1 if something was seen, written or kept that snapshot isolation does not allow, or if memory,
threads, Java objects, transactions, locks, directories or the metastore grew.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, fields
from pathlib import Path

from tests.concurrency.chart import draw
from tests.concurrency.checker import Unit
from tests.concurrency.sessions import open_session
from tests.concurrency.soak import Plan, Report, soak
from tests.concurrency.warehouses import LOCAL, S3, prepared
from tests.concurrency.workers import Role


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a soak; return the exit status."""
    options = _parser().parse_args(arguments)
    here = [Role.WRITER] * options.threads + [Role.NEW_SESSION] * options.sessions
    plan = Plan(
        seconds=options.minutes * 60,
        seed=options.seed,
        roles=[*here, Role.READER, Role.COMPACTOR],
        processes=[[Role.WRITER, Role.WRITER, Role.READER]] * options.processes,
        round_seconds=options.round,
        unit=Unit(options.unit),
    )
    report = Report()
    with ExitStack() as running:
        name = tempfile.TemporaryDirectory(prefix="acidsql-concurrency-")
        home = Path(running.enter_context(name))
        running.enter_context(prepared(home, options.filesystem))
        spark = open_session(home, "main")
        print(f"--seed {plan.seed}, tables in {home}", flush=True)
        try:
            soak(spark, home, plan, report, lambda text: print(text, flush=True))
        finally:
            print(report)
            if options.report is not None:
                _save(report, options.report)
        spark.stop()
    for text in report.violations:
        print(f"VIOLATION: {text}")
    return 1 if report.violations else 0


def _save(report: Report, place: Path) -> None:
    """Write figures, samples and their chart into a directory."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "report.txt").write_text("\n".join([str(report), *report.violations, ""]))
    names = [field.name for field in fields(report) if field.name != "samples"]
    figures = {name: getattr(report, name) for name in names}
    (place / "report.json").write_text(json.dumps(figures))
    with (place / "samples.jsonl").open("w") as lines:
        for sample in report.samples:
            lines.write(json.dumps(asdict(sample)) + "\n")
    draw(report.samples, place / "soak.svg")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.concurrency", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10, help="after which no other round begins"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the statements")
    parser.add_argument("--threads", type=int, default=2, help="writers that share a session")
    parser.add_argument(
        "--sessions", type=int, default=2, help="writers with sessions of their own"
    )
    parser.add_argument("--processes", type=int, default=1, help="others, with two writers each")
    parser.add_argument("--round", type=float, default=20, help="seconds between two checks")
    parser.add_argument(
        "--filesystem", choices=[LOCAL, S3], default=LOCAL, help="on which the tables are"
    )
    parser.add_argument("--unit", choices=list(Unit), default=Unit.ROW, help="of conflicts")
    parser.add_argument("--report", type=Path, help="directory for figures, samples and a chart")
    return parser


if __name__ == "__main__":
    sys.exit(main())
