"""Family ``metastore-kills``: kills, interrupts and pauses of statements without Spark.

The statements (``small_rows``, ``small_catalog``) use the product's metastore, transactions,
compactions and cleaner over small files. Each runs in a forked process, which is hit at a named
step or at a random line. Then another process must find the state before or after, and go on.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.campaign import Family, Fault, Options
from tests.faults.forked import Action, Shot, dry_run, random_moment
from tests.faults.small_actor import Actor
from tests.faults.small_judge import Trial, judge
from tests.faults.small_statements import KINDS
from tests.faults.small_templates import Template, make_templates
from tests.faults.small_world import SharedClock, World
from tests.faults.together import judge_together

NAME = "metastore-kills"
HITS = 5
# Of so many faults, one is in several processes at once.
_TOGETHER = 20
_ACTIONS: tuple[Action, ...] = ("kill", "kill", "interrupt", "two interrupts", "pause")


@dataclass(frozen=True, slots=True)
class Cell:
    """Named step of a kind of statement, and how often it is taken from each template."""

    step: str
    kind: str
    occurrences: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Range:
    """What there is to shoot at.

    Attributes:
        cells: all named steps of all kinds.
        lines: number of lines of the product's code, by kind and template.
        seconds: duration, by kind and template.
    """

    cells: tuple[Cell, ...]
    lines: Mapping[tuple[str, str], int]
    seconds: Mapping[tuple[str, str], float]


def measure(world: World, templates: Mapping[str, Template]) -> Range:
    """Run each kind of statement from each template without faults."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    lines, seconds = {}, {}
    for kind in KINDS.values():
        for template in templates.values():
            world.copy_from(template.path)
            with world.process() as session:
                actor = Actor(world, session, "new")
                watch = dry_run(lambda _: kind.run(actor), session)  # noqa: B023 - used at once
            for step in watch.steps:
                of_step = counts.setdefault((step, kind.name), {})
                of_step[template.name] = of_step.get(template.name, 0) + 1
            lines[kind.name, template.name] = watch.lines
            world.copy_from(template.path)
            with world.process() as session:
                began = time.perf_counter()
                kind.run(Actor(world, session, "new"))
                seconds[kind.name, template.name] = time.perf_counter() - began
    cells = tuple(Cell(step, kind, found) for (step, kind), found in sorted(counts.items()))
    return Range(cells, lines, seconds)


def aimed(seed: int, targets: Range) -> tuple[str, str, Shot]:
    """Return the kind of statement, the template and the shot of a seed.

    Of consecutive seeds every second one aims at the next named step, so that all are hit.
    """
    chance = random.Random(seed)
    if seed % 2:
        kind, template = chance.choice(sorted(targets.lines))
        place = kind, template
        return kind, template, random_moment(chance, targets.lines[place], targets.seconds[place])
    cell = targets.cells[seed // 2 % len(targets.cells)]
    template = chance.choice(sorted(cell.occurrences))
    action = chance.choice(_ACTIONS)
    if action == "pause" and cell.step.startswith("in "):
        action = "kill"  # it would keep the write lock of SQLite for as long as it is stopped
    shot = Shot(
        action=action,
        step=cell.step,
        occurrence=chance.randrange(cell.occurrences[template]),
        second=chance.choice((chance.randrange(10), chance.randrange(100), chance.randrange(600))),
    )
    return cell.kind, template, shot


def faults(home: Path, seeds: range) -> Iterator[Fault]:
    """Inject the faults of some seeds, in this process and its children."""
    world = World(home / "world", SharedClock())
    templates = make_templates(world, home / "templates")
    targets = measure(world, templates)
    for seed in seeds:
        if seed % _TOGETHER == 1:
            past = random.Random(seed).choice(sorted(templates))
            struck, violation = judge_together(world, templates[past], seed)
            yield Fault(
                family=NAME,
                step="random",
                statement="several processes",
                seed=seed,
                struck=struck,
                violation=violation and f"from {past}: {violation}"[:2500],
            )
            continue
        kind, template, shot = aimed(seed, targets)
        trial = Trial(world, templates[template], KINDS[kind], shot, random.Random(seed))
        struck, violation = judge(trial)
        if violation is not None:
            # Lines of several processes do not mix in a pipe if they are short.
            violation = f"{shot.action} from {template}: {violation}"[:2500]
        yield Fault(
            family=NAME,
            step=shot.step or "random",
            statement=kind,
            seed=seed,
            struck=struck,
            violation=violation,
        )


def run(options: Options) -> Iterator[Fault]:
    """Inject faults, in one process for each processor.

    They fork, which a process with threads must not do: the tests' own process has some.
    """
    workers = min(os.cpu_count() or 1, 2, max(1, options.count // 100))
    found, given = os.pipe()
    started = []
    for number in range(workers):
        home = options.home / str(number)
        home.mkdir()
        size = map(str, (options.seed, options.count, number, workers))
        command = [sys.executable, "-m", __name__, str(home), *size]
        started.append(subprocess.Popen(command, stdout=given))
    os.close(given)
    with os.fdopen(found) as lines:
        for line in lines:
            yield Fault(**json.loads(line))
    for process in started:
        if process.wait():
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")


def main() -> None:
    """Inject one part of the faults, and print them."""
    # What the product logs of errors is as it should be; what is wrong is found afterwards.
    logging.getLogger("acidsql").addHandler(logging.NullHandler())
    home, (seed, count, number, workers) = sys.argv[1], map(int, sys.argv[2:])
    share = count // workers
    first = seed + number * share
    last = seed + count if number == workers - 1 else first + share
    # Children share this memory as long as it is not written to.
    gc.collect()
    gc.freeze()
    for fault in faults(Path(home), range(first, last)):
        os.write(1, json.dumps(asdict(fault)).encode() + b"\n")


class _Needed(Mapping[tuple[str, str], int]):
    """Hits of each cell that a whole campaign needs, found by a dry run at their first use."""

    @staticmethod
    @cache
    def _cells() -> dict[tuple[str, str], int]:
        with TemporaryDirectory() as home:
            world = World(Path(home, "world"), SharedClock())
            targets = measure(world, make_templates(world, Path(home, "templates")))
        return {
            **{(cell.step, cell.kind): HITS for cell in targets.cells},
            ("random", "several processes"): HITS,
        }

    def __getitem__(self, cell: tuple[str, str]) -> int:
        return self._cells()[cell]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._cells())

    def __len__(self) -> int:
        return len(self._cells())


FAMILY = Family(
    name=NAME,
    summary="kills, interrupts and pauses of the metastore, transactions and cleaner, no Spark",
    run=run,
    needed=_Needed(),
)


if __name__ == "__main__":
    main()
