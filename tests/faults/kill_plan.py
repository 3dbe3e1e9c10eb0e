"""Plans of the campaign ``kills``: which statement is killed where, by the seed of the shot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

from tests.faults.kill_cases import CASES, REFUSED_ON_S3
from tests.faults.kill_model import Case
from tests.faults.kill_steps import COMMITS_AND_RENAMES, LOCAL, RANDOM, recorded
from tests.faults.kill_worker import BOTH, JVM, PYTHON

HITS = 5
COUNTED = 500  # number in the texts whose steps are counted
# One of this number of shots has a JVM of its own, which is killed too.
_OWN_JVM = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Plan of a shot, made only of its seed.

    Attributes:
        case: the statement.
        step: at which it is killed.
        occurrence: of the step.
        moment: part of the statement's time after which it is killed, if the step is ``RANDOM``.
        kills: what is killed.
        own_jvm: whether the worker has a JVM of its own.
        number: in the texts.
        cleans_first: whether the next process compacts and cleans before it writes.
    """

    case: Case
    step: str
    occurrence: int
    moment: float
    kills: str
    own_jvm: bool
    number: int
    cleans_first: bool

    def __str__(self) -> str:
        where = f"{self.step} {self.occurrence}" if self.step != RANDOM else f"{self.moment:.0%}"
        own = " with its JVM" if self.own_jvm else ""
        return f"{self.case.name}: {self.kills} killed{own} at {where}"


def cases(filesystem: str = LOCAL) -> list[Case]:
    """Return the statements that are killed on a file system.

    On S3 those of tables with partitions, which do all that others do.
    """
    if filesystem == LOCAL:
        return list(CASES)
    return [
        case
        for case in CASES
        if case.kind not in REFUSED_ON_S3
        and ("part" in case.variant or "DATABASE" in case.kind)
        and not ("transaction" in case.kind and (case.by_jobs or "buck" in case.variant))
    ]


def cells(filesystem: str = LOCAL) -> dict[tuple[str, str], int]:
    """Return the cells (step, kind of statement) that can occur, each with the hits it needs."""
    kinds = {case.name: case.kind for case in cases(filesystem)}
    steps = recorded(filesystem)
    found = {(step, kinds[name]) for name in steps if name in kinds for step in steps[name]}
    return dict.fromkeys(sorted(found | {(RANDOM, kind) for kind in kinds.values()}), HITS)


@cache
def _slots(filesystem: str) -> tuple[tuple[str, str], ...]:
    """Return the cells in an order that makes each part a sample.

    Those around commits and renames are repeated until they are half of all.
    """
    near = [cell for cell in cells(filesystem) if cell[0] in COMMITS_AND_RENAMES]
    far = [cell for cell in cells(filesystem) if cell[0] not in COMMITS_AND_RENAMES]
    repeated = [near[i % len(near)] for i in range(max(len(near), len(far)))] if near else []
    slots = [*far, *repeated]
    Random(0).shuffle(slots)
    return tuple(slots)


def plan(seed: int, filesystem: str = LOCAL) -> Plan:
    """Return the plan of a seed: as many seeds in a row as there are slots hit each cell once."""
    slots = _slots(filesystem)
    step, kind = slots[seed % len(slots)]
    random = Random(seed)
    steps = recorded(filesystem)
    able = [
        case
        for case in cases(filesystem)
        if case.kind == kind and (step == RANDOM or step in steps.get(case.name, {}))
    ]
    case = random.choice(able)
    own_jvm = random.randrange(_OWN_JVM) == 0
    return Plan(
        case=case,
        step=step,
        occurrence=random.randint(1, steps[case.name][step]) if step != RANDOM else 0,
        moment=random.random(),
        kills=random.choice((PYTHON, JVM, BOTH)) if own_jvm else PYTHON,
        own_jvm=own_jvm,
        # Other ids could fall into other buckets than those whose steps were counted.
        number=COUNTED if "buck" in case.variant else random.randrange(100, 1000),
        cleans_first=random.random() < 0.25,
    )
