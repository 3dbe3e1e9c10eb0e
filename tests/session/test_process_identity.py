from __future__ import annotations

import subprocess
import sys

from acidsql.session.process_identity import has_ended, this_process

PROGRAM = """
from acidsql.session.process_identity import this_process
print(this_process(), flush=True)
input()
"""


def test_a_process_is_known_by_its_machine_number_and_start() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = process.stdout.readline().strip()
        assert not has_ended(child)
        process.communicate("\n")
    assert has_ended(child)
    own = this_process()
    assert own != child
    assert not has_ended(own)
    machine, number, started = own.rsplit(" ", 2)
    if started:
        assert has_ended(f"{machine} {number} 1")  # another process had the number
    assert not has_ended(f"elsewhere {machine} {number} 1")


def test_other_texts_are_no_processes() -> None:
    for text in ("", "x", "a b", "a 1 2 3", "host ٣ 1"):
        assert not has_ended(text)
