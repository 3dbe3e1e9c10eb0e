"""A real Hive for the tests marked ``hive``, and sessions of acidsql beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.hive.hive import Hive, running
from tests.java_tools import TOOLS, JavaSetupError
from tests.requirements import require_tools, unavailable


@pytest.fixture(scope="session")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hive]:
    """One Hive for all tests, whose metastore answers on a port; tests use tables of their own."""
    require_tools(*TOOLS)
    with ExitStack() as stack:
        try:
            server = stack.enter_context(
                running(tmp_path_factory.mktemp("hive") / "home", serve=True)
            )
        except JavaSetupError as error:
            unavailable(f"a real Hive could not be provided: {error}")
        yield server
