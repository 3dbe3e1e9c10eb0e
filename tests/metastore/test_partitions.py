"""Partitions in the catalog of a metastore."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.metastore.changes import RecordWrites
from acidsql.metastore.model import Partition, Table
from acidsql.metastore.protocol import Metastore


def test_partitions_are_sorted_and_added_once(metastore: Metastore, employee: Table) -> None:
    metastore.create_table(employee)
    place = employee.location
    first = Partition(values=("de", "2024"), location=f"{place}/a")
    second = Partition(values=("Å/land %", "__HIVE_DEFAULT_PARTITION__"), location=f"{place}/b")
    third = Partition(values=("de", "10"), location=f"{place}/c")
    metastore.add_partitions("default", "Employee", [first, second])
    metastore.add_partitions(
        "default", "employee", [replace(first, location=f"{place}/other"), third]
    )
    assert metastore.partitions("default", "employee") == (third, first, second)


def test_partition_needs_a_value_for_each_column(metastore: Metastore, employee: Table) -> None:
    metastore.create_table(employee)
    with pytest.raises(AcidAnalysisError, match="PARTITION_VALUES_MISMATCH"):
        metastore.add_partitions(
            "default", "employee", [Partition(values=("de",), location=f"{employee.location}/x")]
        )
    assert metastore.partitions("default", "employee") == ()


def test_partitions_are_dropped_all_or_none(
    metastore: Metastore, employee: Table, france: Partition, spain: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france, spain])
    with pytest.raises(AcidLookupError, match="PARTITION_NOT_FOUND"):
        metastore.drop_partitions("default", "employee", [spain.values, ("de", "2025")])
    assert metastore.partitions("default", "employee") == (france, spain)
    metastore.drop_partitions("default", "employee", [spain.values])
    metastore.drop_partitions("default", "employee", [])
    assert metastore.partitions("default", "employee") == (france,)


def test_only_the_partitions_asked_for(
    metastore: Metastore, employee: Table, france: Partition, spain: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [spain, france])
    assert metastore.partition_values("default", "employee") == (france.values, spain.values)
    wanted = [spain.values, ("Malta", "2001")]
    assert metastore.partitions("default", "employee", wanted) == (spain,)
    assert metastore.partitions("default", "employee", []) == ()


def test_partitions_get_a_location_and_columns_of_their_own(
    metastore: Metastore, employee: Table, france: Partition, spain: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [spain, france])
    own = tuple(replace(c, nullable=True) for c in employee.columns[:1])
    moved = replace(france, location=f"{employee.location}/far", columns=own)
    metastore.alter_partitions("default", "employee", [moved])
    assert metastore.partitions("default", "employee") == (moved, spain)


def test_no_partition_is_altered_if_one_is_missing(
    metastore: Metastore, employee: Table, france: Partition, spain: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france])
    moved = replace(france, location=f"{employee.location}/y")
    with pytest.raises(AcidLookupError, match="PARTITION_NOT_FOUND"):
        metastore.alter_partitions("default", "employee", [moved, spain])
    assert metastore.partitions("default", "employee") == (france,)


def test_renamed_partition(
    metastore: Metastore, employee: Table, france: Partition, spain: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france])
    metastore.rename_partition("default", "employee", france.values, spain)
    assert metastore.partitions("default", "employee") == (spain,)


def test_partition_is_not_renamed_over_another(
    metastore: Metastore, employee: Table, france: Partition, spain: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france, spain])
    with pytest.raises(AcidAnalysisError, match="PARTITION_ALREADY_EXISTS"):
        metastore.rename_partition("default", "employee", france.values, spain)
    with pytest.raises(AcidLookupError, match="PARTITION_NOT_FOUND"):
        metastore.rename_partition(
            "default", "employee", ("Malta", "1"), replace(spain, values=("Malta", "2"))
        )
    assert metastore.partitions("default", "employee") == (france, spain)


def test_partitions_written_are_there_at_the_commit(
    metastore: Metastore, employee: Table, france: Partition, spain: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france])
    txn_id = metastore.open_txn("ann", "host")
    metastore.allocate_write_id(txn_id, "default", "employee")
    other = replace(france, location=f"{employee.location}/ignored")
    written = RecordWrites(table=employee, written=(other, spain))
    metastore.prepare_commit(txn_id, [written])
    metastore.commit_txn(txn_id)
    assert metastore.partitions("default", "employee") == (france, spain)
