"""Requirements of tests beyond Python, without which they are skipped."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

_ADVICE = "install Maven and a JDK 17 (Debian, Ubuntu: apt install maven openjdk-17-jdk-headless)"


def require_tools(*tools: str) -> None:
    """Skip the test if one of these commands is not on the PATH."""
    for tool in tools:
        if shutil.which(tool) is None:
            unavailable(f"{tool} is not on the PATH: {_ADVICE}")


def unavailable(reason: str) -> NoReturn:
    """Skip, or fail where ACIDSQL_REQUIRE says that every tool must be there."""
    if os.environ.get("ACIDSQL_REQUIRE"):
        pytest.fail(reason)
    pytest.skip(reason)
