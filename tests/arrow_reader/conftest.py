"""An embedded metastore with a table, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.streaming.conftest import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """Yield an empty metastore."""
    made = Shelf(tmp_path)
    yield made
    made.metastore.close()
