"""The steps at which kills strike are calls of the product."""

from __future__ import annotations

from acidsql import bridge
from tests.faults.kill_steps import Steps, installed


def test_each_step_is_found_and_put_back() -> None:
    write = bridge.write_bucket_files
    with installed(Steps(None, 0, lambda: None)):
        assert bridge.write_bucket_files is not write
    assert bridge.write_bucket_files is write
