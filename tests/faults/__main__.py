"""Command of the fault campaigns: ``python -m tests.faults FAMILY … --count N --seed S``.

It prints the seed of each violation, and a table of the steps that were hit. It exits with 1 if
something was lost, doubled, half done or stuck, or (with ``--whole``) if a cell of the table has
fewer hits than the family needs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.faults.campaign import Fault, Options, described, missing, report, violations
from tests.faults.families import FAMILIES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run campaigns; return the exit status."""
    options = _parser().parse_args(arguments)
    names = options.families or [f.name for f in FAMILIES.values() if f.is_local]
    found: list[Fault] = []
    with tempfile.TemporaryDirectory(prefix="acidsql-faults-") as home:
        for name in names:
            place = Path(options.home or home) / name
            place.mkdir(parents=True, exist_ok=True)
            size = Options(count=options.count, seed=options.seed, home=place)
            for fault in FAMILIES[name].run(size):
                found.append(fault)
                _tell(fault, len(found), options.report)
    print(report(found))
    lacking = {name: missing(FAMILIES[name], found) for name in names} if options.whole else {}
    for name, cells in lacking.items():
        for (step, statement), lack in cells.items():
            print(f"{name}: {lack} hits are missing at {step!r} of {statement}")
    return 1 if violations(found) or any(lacking.values()) else 0


def _tell(fault: Fault, number: int, log: Path | None) -> None:
    if log is not None:
        with log.open("a") as lines:
            lines.write(json.dumps(asdict(fault) | {"time": time.time()}) + "\n")
    if fault.violation is not None:
        print(described(fault), flush=True)
    elif number % 10 == 0:
        print(f"{number} faults, the last is {fault.family} {fault.seed}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    for family in FAMILIES.values():
        parser.epilog = f"{parser.epilog or ''} {family.name}: {family.summary}."
    parser.add_argument("families", nargs="*", metavar="FAMILY", choices=[*FAMILIES, []])
    parser.add_argument("--count", type=int, default=40, help="faults of each family")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first fault")
    parser.add_argument(
        "--home", type=Path, help="directory that is kept, for a look at what is left"
    )
    parser.add_argument("--report", type=Path, help="file that gets a JSON line for each fault")
    parser.add_argument("--whole", action="store_true", help="fail if a cell has too few hits")
    return parser


if __name__ == "__main__":
    sys.exit(main())
