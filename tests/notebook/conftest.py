"""An IPython in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pyspark.sql import SparkSession
from traitlets.config import Config

import acidsql


@pytest.fixture
def shell(
    empty: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """A shell with the magics and a session in the variable ``spark``."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    made = InteractiveShell.instance(
        config=config, colors="nocolor", user_module=ModuleType("cells")
    )
    made.user_ns["spark"] = empty
    acidsql.sql(empty, f"CREATE DATABASE cells LOCATION '{tmp_path / 'cells'}'")
    acidsql.sql(empty, "USE cells")
    made.run_line_magic("load_ext", "acidsql")
    yield made
    made.run_line_magic("unload_ext", "acidsql")
    InteractiveShell.clear_instance()
    acidsql.sql(empty, "DROP DATABASE cells CASCADE")
