"""Tests of every golden table, read by Arrow under Hive's snapshot: rows, row ids, partitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.arrow_reader.reading import check_readable
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from tests.arrow_reader.hive_rows import (
    create_table,
    read_under,
    rows_of,
    rows_with_ids,
    spark_types_of,
)
from tests.golden.golden import GOLDEN, TABLES, expected_of, expected_with_ids_of
from tests.hive_tables import HiveTable


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[EmbeddedMetastore]:
    made = EmbeddedMetastore(str(tmp_path / "metastore.sqlite"), synchronous=False)
    yield made
    made.close()


@pytest.mark.parametrize("golden", [pytest.param(g, id=g.name) for g in GOLDEN])
def test_what_hive_wrote_reads_as_in_hive(metastore: EmbeddedMetastore, golden: HiveTable) -> None:
    table = create_table(metastore, golden, TABLES / golden.name / "data")
    if golden.file_format != "ORC":
        with pytest.raises(AcidAnalysisError) as error:
            check_readable(table)
        assert error.value.condition == "UNSUPPORTED_FEATURE.ARROW_TABLE"
        return
    check_readable(table)
    kinds = spark_types_of(golden)
    names = [name for name, _ in (*golden.columns, *golden.partition_columns)]
    if golden.insert_only:
        found = read_under(metastore, golden, table)
        assert found.column_names == names
        assert rows_of(found, kinds) == expected_of(golden, kinds)
    else:
        found = read_under(metastore, golden, table, [*names, "row__id"])
        assert rows_with_ids(found, kinds) == expected_with_ids_of(golden, kinds)
