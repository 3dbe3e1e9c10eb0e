"""Fault campaigns: what each family of faults takes and gives, and the report over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Size of a campaign.

    Attributes:
        count: number of faults to inject.
        seed: of the first fault; each fault has a seed of its own, from which it is made again.
        home: empty directory for tables, metastores and logs.
    """

    count: int
    seed: int
    home: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Fault that was injected, and what was found after it.

    Attributes:
        family: name of the family.
        step: named step at which it struck, or "random".
        statement: kind of the statement at work.
        seed: from which it is made again.
        struck: False if the statement had ended before.
        violation: what was lost, doubled, half done or stuck; None if nothing was.
    """

    family: str
    step: str
    statement: str
    seed: int
    struck: bool = True
    violation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Family of faults.

    Attributes:
        name: argument of the command.
        summary: what it does, in a line of the help.
        run: injects faults; gives each when it has looked at what was left.
        needed: cells (step, statement) that a whole campaign must hit, with how often.
        is_local: whether Python, Java and Spark are all that it needs.
    """

    name: str
    summary: str
    run: Callable[[Options], Iterator[Fault]]
    needed: Mapping[tuple[str, str], int]
    is_local: bool = True


def missing(family: Family, faults: Iterable[Fault]) -> dict[tuple[str, str], int]:
    """Return how many hits each cell lacks of what a whole campaign needs."""
    hits = Counter((f.step, f.statement) for f in faults if f.struck and f.family == family.name)
    lacks = {cell: needed - hits[cell] for cell, needed in family.needed.items()}
    return {cell: lack for cell, lack in lacks.items() if lack > 0}


def violations(faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults after which something was wrong."""
    return [fault for fault in faults if fault.violation is not None]


def report(faults: Sequence[Fault]) -> str:
    """Return a table of the hits of each family: a line for each step, a column for each kind of
    statement; and then each violation in full, which pytest would shorten.
    """
    parts = []
    for name in dict.fromkeys(fault.family for fault in faults):
        of_family = [fault for fault in faults if fault.family == name]
        hits = Counter((f.step, f.statement) for f in of_family if f.struck)
        steps = sorted({f.step for f in of_family})
        statements = sorted({f.statement for f in of_family})
        rows = [[name, *statements, "all"]]
        for step in steps:
            counts = [hits[step, statement] for statement in statements]
            rows.append([step, *map(str, counts), str(sum(counts))])
        totals = [sum(hits[step, statement] for step in steps) for statement in statements]
        rows.append(["all", *map(str, totals), str(sum(totals))])
        parts.append(_aligned(rows))
    struck = sum(fault.struck for fault in faults)
    wrong = violations(faults)
    parts.append(f"{len(faults)} faults, {struck} of them struck, {len(wrong)} violations")
    return "\n\n".join([*parts, *map(described, wrong)])


def described(fault: Fault) -> str:
    """Return all there is to know of a violation."""
    return (
        f"VIOLATION {fault.family} --seed {fault.seed} ({fault.step}, {fault.statement}): "
        f"{fault.violation}"
    )


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        " ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )
