"""The square button of a notebook while a cell runs a statement, once and twice."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty

from tests.faults.campaign import Fault
from tests.faults.children import environment
from tests.notebook.kernel import Kernel, Message, started

_RETURNED = "it returned"
_MOST_SECONDS = 2.0
_BEGIN = """
import json, random
from pathlib import Path
from tests.faults.notebook_cells import Cells
cells = Cells(Path({home!r}))
spark = cells.session.spark
get_ipython().run_line_magic("load_ext", "acidsql")
print("ready")
"""


def interrupted(home: Path, seeds: range) -> Iterator[Fault]:
    """Interrupt a cell of one kernel for each seed."""
    home.mkdir(parents=True, exist_ok=True)
    os.environ.update(environment({}))
    with started(home) as kernel:
        said = kernel.run(_BEGIN.format(home=str(home)))
        if not any("ready" in str(message.content.get("text")) for message in said):
            raise RuntimeError(f"the kernel has no session: {said}")
        for seed in seeds:
            try:
                fault = _strike(kernel, seed)
            except Empty:
                yield _fault(seed, "?", violation="the kernel is stuck")
                return
            yield fault
            if fault.violation is not None:
                return


def _strike(kernel: Kernel, seed: int) -> Fault:
    rng = random.Random(seed)
    kind = _printed(kernel.run(f"print(cells.draw({seed}))"))
    text = _printed(kernel.run("print(cells.text)"))
    first = rng.uniform(0, _MOST_SECONDS) * rng.random()
    moments = [first, first + rng.uniform(0, 0.3)] if rng.random() < 0.5 else [first]
    timers = [threading.Timer(moment, kernel.interrupt) for moment in moments]
    for timer in timers:
        timer.start()
    magic = rng.random() < 0.5
    said = kernel.run(f"{f'%acidsql {text}' if magic else 'cells.run()'}\nprint({_RETURNED!r})")
    for timer in timers:
        timer.cancel()
        timer.join()
    # Without an error it may have been interrupted before it began.
    returned = any(message.content.get("text") == f"{_RETURNED}\n" for message in said)
    answer = json.loads(_printed(kernel.run(f"print(cells.verdict(returned={returned}))")))
    return _fault(seed, kind, struck=not returned, violation=answer, magic=magic)


def _printed(said: Sequence[Message]) -> str:
    printed = [message.content for message in said if message.kind == "stream"]
    texts = [str(content["text"]) for content in printed if content["name"] == "stdout"]
    if not texts:
        raise RuntimeError(f"the cell failed: {[m.content for m in said]}"[:2000])
    return "".join(texts).strip()


def _fault(
    seed: int, kind: str, *, struck: bool = True, violation: str | None, magic: bool = False
) -> Fault:
    return Fault(
        family="interrupts",
        step="notebook: magic" if magic else "notebook: cell",
        statement=kind,
        seed=seed,
        struck=struck,
        violation=violation,
    )
