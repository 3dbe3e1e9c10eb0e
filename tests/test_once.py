"""Tests of what is made once for all threads."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable

from acidsql.once import once, once_property

THREADS = 16


def at_once(call: Callable[[], object]) -> list[object]:
    """Call a function in sixteen threads at the same moment; what it returned."""
    barrier, answers = threading.Barrier(THREADS), []

    def run() -> None:
        barrier.wait()
        answers.append(call())

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_a_function_is_called_once_for_each_of_its_arguments() -> None:
    calls: list[str] = []

    @once
    def made(name: str) -> object:
        """Make it."""
        calls.append(name)
        time.sleep(0.01)
        return object()

    answers = at_once(lambda: made("a"))
    assert (len(answers), len(set(map(id, answers))), calls) == (THREADS, 1, ["a"])
    assert made("b") is not made("a")
    assert made.__doc__ == "Make it."


def test_a_property_is_computed_once_for_each_object() -> None:
    calls: list[object] = []

    class Owner:
        @once_property
        def made(self) -> object:
            """Made once."""
            calls.append(self)
            time.sleep(0.01)
            return self.needed, object()

        @once_property
        def needed(self) -> int:
            return 1

    one, two = Owner(), Owner()
    answers = at_once(lambda: one.made)
    assert (len(answers), len(set(map(id, answers))), calls) == (THREADS, 1, [one])
    assert two.made is not one.made
    assert Owner.made.__doc__ == "Made once."


def test_what_fails_is_made_by_the_next_one() -> None:
    calls: list[int] = []

    @once
    def made() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise OSError
        return 7

    try:
        made()
    except OSError:
        assert made() == made() == 7
    assert len(calls) == 2


PARSE_AT_ONCE = """
import sys
from acidsql.syntax import parse, parser
from tests.test_once import at_once

sys.setswitchinterval(1e-5)
load, loaded = parser.load_grammar, []
parser.load_grammar = lambda: loaded.append(1) or load()
found = at_once(lambda: type(parse("DELETE FROM t WHERE id = 1")).__name__)
print(found == ["Delete"] * 16, len(loaded))
"""


def test_sixteen_threads_of_a_new_process_build_one_grammar() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARSE_AT_ONCE], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True 1\n"
