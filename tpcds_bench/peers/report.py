"""Report of suite ``peers``: the cost of every engine by Spark release, and acidsql's ratios."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from tpcds_bench.peers.anatomy import KINDS
from tpcds_bench.peers.registry import ENGINES, FLAT
from tpcds_bench.peers.results import Cost, GroupResult, StepResult
from tpcds_bench.report import Cell, Chart, Section, environment

_TEXT = (
    "Each engine has a process of its own with two processors, 4 shuffle partitions and the same"
    " heap; all do a step in turns, another one first in each round, after a warm-up at scale"
    " factor 0.01. All files are compressed with zstd."
)
_COLD_TEXT = (
    "Each step has a new process with two processors, 4 shuffle partitions and the same heap. After"
    " its start it makes a small table, fills it and counts its rows; then it does the step, the"
    " first of its kind there. All files are compressed with zstd."
)


def sections(scale: float, results: Sequence[GroupResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    return tuple(section for result in results for section in _group(scale, result))


def cold_sections(scale: float, result: GroupResult) -> tuple[Section, ...]:
    """Return the report on a run with a new process for each statement."""
    return (*_group(scale, result, text=_COLD_TEXT), _anatomies(result))


def _group(scale: float, result: GroupResult, *, text: str = _TEXT) -> tuple[Section, ...]:
    labels = [ENGINES[name].label for name in result.engines]
    on = f"on PySpark {result.pyspark}"
    cpu = Section(
        title=f"Processor time {on}",
        text=(
            f"{environment(scale, pyspark=result.pyspark, python=result.python)} Seconds of"
            f" processor time of the whole process tree, median and range. {text}"
        ),
        headers=("step", *labels, "÷ best peer", "÷ flat ORC", "goal", "verdict"),
        rows=[
            (
                step.name,
                *_spread(step, result.engines, lambda cost: cost.sample.cpu),
                step.ratio(step.best_peer),
                step.ratio(FLAT),
                "" if step.goal is None else str(step.goal),
                {True: "met", False: "MISSED", None: ""}[step.met],
            )
            for step in result.steps
        ],
        chart=Chart(
            unit="ratio of processor times",
            bars=[
                (f"{step.name} ÷ {step.goal.against.value}", ratio, step.goal.limit)
                for step in result.steps
                if step.goal is not None and (ratio := step.goal_ratio) is not None
            ],
        ),
    )
    wall = Section(
        title=f"Wall time {on}",
        text="Seconds on the clock, median and range.",
        headers=("step", *labels),
        rows=[
            (step.name, *_spread(step, result.engines, lambda cost: cost.sample.wall))
            for step in result.steps
        ],
    )
    written = Section(
        title=f"Bytes written {on}",
        text="MiB that files in the table's directory grew by, new ones included; median.",
        headers=("step", *labels),
        rows=[
            (step.name, *_written(step, result.engines))
            for step in result.steps
            if any(cost.written is not None for costs in step.costs.values() for cost in costs)
        ],
    )
    return (*_problems(result), cpu, wall, written)


def _anatomies(result: GroupResult) -> Section:
    """Return the breakdown of each step's processor time, as medians of the rounds."""
    rows: list[Sequence[Cell]] = []
    for step in result.steps:
        for name in result.engines:
            anatomies = [
                cost.anatomy for cost in step.costs.get(name, ()) if cost.anatomy is not None
            ]
            if not anatomies:
                continue
            compiled = [anatomy.compiled for anatomy in anatomies]
            rows.append(
                (
                    step.name,
                    ENGINES[name].label,
                    *(statistics.median(one.seconds[kind] for one in anatomies) for kind in KINDS),
                    round(statistics.median(one.programs for one in compiled)),
                    statistics.median(one.seconds for one in compiled),
                    round(statistics.median(one.classes for one in compiled)),
                )
            )
    return Section(
        title=f"Where the processor time goes on PySpark {result.pyspark}",
        text=(
            "Seconds by the kind of thread. C1 and C2 are Java's compilers. Spark generates"
            " programs, which Janino compiles in the threads of tasks and of the driver."
        ),
        headers=("step", "engine", *KINDS, "programs", "Janino", "classes loaded"),
        rows=rows,
    )


def _problems(result: GroupResult) -> tuple[Section, ...]:
    """Return the sections on differences and failures, which precede the figures."""
    rows: list[Sequence[Cell]] = [
        (failure.when, failure.step, ENGINES[failure.engine].label, f"failed: {failure.message}")
        for failure in result.failures
    ]
    rows += [
        (
            problem.when,
            problem.step,
            ENGINES[name].label,
            f"{problem.what}: {value}, expected {problem.expected}",
        )
        for problem in result.differences
        for name, value in problem.found.items()
    ]
    if not rows:
        return ()
    return (
        Section(
            title=f"PROBLEMS on PySpark {result.pyspark}",
            text="**Engines failed, or do not have the same rows after a step.**",
            headers=("when", "step", "engine", "what"),
            rows=rows,
        ),
    )


def _spread(
    step: StepResult, engines: Sequence[str], value: Callable[[Cost], float]
) -> tuple[str, ...]:
    """Return median and range of each engine, such as ``1.23 (1.20 to 1.31)``."""
    texts = []
    for name in engines:
        values = [value(cost) for cost in step.costs.get(name, ())]
        if not values:
            texts.append("")
            continue
        spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
        texts.append(f"{statistics.median(values):.2f}{spread}")
    return tuple(texts)


def _written(step: StepResult, engines: Sequence[str]) -> tuple[float | None, ...]:
    sizes = (
        [cost.written for cost in step.costs.get(name, ()) if cost.written is not None]
        for name in engines
    )
    return tuple(statistics.median(written) / 2**20 if written else None for written in sizes)
