"""Command of the fuzzers: ``python -m tests.fuzz TARGET … --minutes M --seed S``.

Each target reads inputs that no program writes: random ones, and broken ones made of real ones. An
input that fails is made as small as it gets, and printed with its seed. The exit status is 1 then.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Sequence

from tests.fuzz.target import Target, rounds
from tests.fuzz.targets import TARGETS

# An input may be a megabyte; the seed makes it again.
_LONGEST_INPUT = 4000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run targets, one after the other; return the exit status."""
    options = _parser().parse_args(arguments)
    names = options.targets or list(TARGETS)
    passed = [_run(TARGETS[name], options.seed, options.minutes * 60) for name in names]
    return 0 if all(passed) else 1


def _run(target: Target, seed: int, seconds: float) -> bool:
    begin = time.monotonic()
    count = 0
    for played in rounds(target, seed=seed, seconds=seconds):
        count += played.inputs
        if played.error is not None:
            print(f"FAILED {target.name} --seed {played.seed} --minutes 0")
            print(f"input: {repr(played.failing)[:_LONGEST_INPUT]}")
            traceback.print_exception(played.error)
            return False
    print(
        f"{target.name}: {count} inputs in {time.monotonic() - begin:.0f} s, "
        f"seeds {seed} to {played.seed}, none failed",
        flush=True,
    )
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        epilog="; ".join(f"{t.name}: {t.summary}" for t in TARGETS.values()),
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", choices=[*TARGETS, []])
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round")
    return parser


if __name__ == "__main__":
    sys.exit(main())
