"""Our own statements on tables that Hive wrote: rows as a plain model has them, and the row ids of
untouched rows as Hive gave them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.golden.golden import GOLDEN, copy, expected_with_ids, parameters
from tests.hive_dml import write_and_compact
from tests.hive_tables import HiveTable, adopt

pytestmark = pytest.mark.spark

# One of each shape of table; the others take minutes.
_QUICK = frozenset(
    {
        "add_columns_partition_restrict",
        "bucketed_partitioned",
        "minor_query_uncleaned",
        "originals_dml",
    }
)


_WRITABLE = [table for table in GOLDEN if table.all_committed and not table.insert_only]


@pytest.mark.sample(1)
@pytest.mark.parametrize("golden", parameters(_WRITABLE, _QUICK))
def test_our_statements_keep_what_hive_wrote(
    empty: SparkSession, tmp_path: Path, golden: HiveTable
) -> None:
    adopt(empty, golden, copy(golden, tmp_path))
    write_and_compact(empty, golden, expected_with_ids(empty, golden))
