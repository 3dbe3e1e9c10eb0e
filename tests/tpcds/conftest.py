"""TPC-DS data for the tests, generated once at the smallest scale factor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed (pip install 'acidsql[bench]')")

from tpcds_bench.data import ExtensionMissingError, dataset

if TYPE_CHECKING:
    from tpcds_bench.data import Dataset

SCALE = 0.01


@pytest.fixture(scope="session")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tpcds")


@pytest.fixture(scope="session")
def data(data_root: Path) -> Dataset:
    try:
        return dataset(data_root, SCALE)
    except ExtensionMissingError as err:
        pytest.skip(str(err))
