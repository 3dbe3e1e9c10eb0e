"""Partitions in the catalog of a metastore."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.metastore.catalog_changes import RecordWrites
from acidsql.metastore.model import Column, Partition, Table
from acidsql.metastore.partition_filter import PartitionComparison
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


def test_values_of_partitions_that_meet_a_filter(metastore: Metastore, employee: Table) -> None:
    metastore.create_table(employee)
    texts = [("de", "2024"), ("de", "2025"), ("fr", "2024"), ('o\'k "x"', "7"), ("it", "-3")]
    metastore.add_partitions(
        "default",
        "employee",
        [Partition(values=v, location=f"{employee.location}/{i}") for i, v in enumerate(texts)],
    )

    def values_of(*alternatives: tuple[PartitionComparison, ...]) -> set[tuple[str, ...]]:
        return set(metastore.partition_values("default", "employee", alternatives))

    def equal(ordinal: int, *values: int | str) -> PartitionComparison:
        return PartitionComparison(ordinal=ordinal, operator="=", values=values)

    assert values_of((equal(0, "de"),)) == {("de", "2024"), ("de", "2025")}
    assert values_of((equal(0, "de", "it"), equal(1, 2024))) == {("de", "2024")}
    assert values_of((equal(0, "it"),), (equal(1, 7),)) == {("it", "-3"), ('o\'k "x"', "7")}
    assert values_of((equal(0, "DE"),)) <= {("de", "2024"), ("de", "2025")}  # by the database
    assert ('o\'k "x"', "7") in values_of((equal(0, 'o\'k "x"'),))
    later = PartitionComparison(ordinal=1, operator=">", values=(2024,))
    assert values_of((later, equal(0, "de"))) >= {("de", "2025")}
    assert values_of((later,)) >= {("de", "2025")}


def test_numbers_of_partitions_that_meet_a_filter(metastore: Metastore, employee: Table) -> None:
    columns = (Column(name="year", type="int"), Column(name="day", type="date"))
    metastore.create_table(replace(employee, partition_columns=columns))
    texts = [("2024", "2024-01-31"), ("2025", "2025-01-31"), ("-3", "2025-01-31")]
    metastore.add_partitions(
        "default",
        "employee",
        [Partition(values=v, location=f"{employee.location}/{i}") for i, v in enumerate(texts)],
    )
    year = PartitionComparison(ordinal=0, operator="=", values=(2025, -3))
    day = PartitionComparison(ordinal=1, operator="=", values=(date(2025, 1, 31),))
    both = set(metastore.partition_values("default", "employee", ((year, day),)))
    assert both == {("2025", "2025-01-31"), ("-3", "2025-01-31")}
    assert set(metastore.partition_values("default", "employee", ((day,),))) >= both


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
