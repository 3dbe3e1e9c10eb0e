"""Tests of directory selection with the cases of Hive's, Trino's and Impala's own tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pytest

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.names import parse_directory
from acidsql.format.selection import AcidState, max_write_id, needs_row_filter, select
from acidsql.format.valid_lists import (
    CompactorWriteIdList,
    ValidTxnList,
    ValidWriteIdList,
)

NONE_OPEN = "9223372036854775807"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Names, a snapshot, and what it must see."""

    title: str
    names: str
    write_ids: str
    txns: str = f"1000:{NONE_OPEN}::"
    metadata: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None
    deltas: str = ""
    originals: str = ""
    obsolete: str = ""
    aborted: str = ""


CASES = [
    Case(
        title="originals, and hidden names",
        names="000000_0 000000_0_copy_1 000000_0_copy_2 000001_1 000002_0 random subdir/000000_0 "
        "_done _tmp/delta_025_025 subdir/_x/000000_0 .hidden",
        write_ids="100::",
        originals="000000_0 000000_0_copy_1 000000_0_copy_2 000001_1 000002_0 random "
        "subdir/000000_0",
    ),
    Case(
        title="originals come in the order of their paths",
        names="000000_0_copy_2 000000_0_copy_10 000000_0",
        write_ids="0::",
        originals="000000_0 000000_0_copy_10 000000_0_copy_2",
    ),
    Case(
        title="an old version, without write id 5, which committed later and ends a base",
        names="base_2 base_5_v10 delta_3_3 delta_4_4 delta_5_5 delta_6_6 delta_3_6_v11",
        write_ids="6:5:",
        base="base_2",
        deltas="delta_3_6_v11",
        obsolete="delta_3_3 delta_4_4 delta_6_6",
    ),
    Case(
        title="the widest delta wins",
        names="000000_0 delta_025_025 delta_029_029 delta_025_030 delta_050_100 delta_101_101",
        write_ids="100::",
        originals="000000_0",
        deltas="delta_025_030 delta_050_100",
        obsolete="delta_025_025 delta_029_029",
    ),
    Case(
        title="the highest base wins and hides what is not above it",
        names="base_5 base_10 base_49 delta_025_025 delta_029_029 delta_025_030 delta_050_105 "
        "delta_90_120",
        write_ids="100::",
        base="base_49",
        deltas="delta_050_105",
        obsolete="base_10 base_5 delta_025_025 delta_025_030 delta_029_029",
    ),
    Case(
        title="a base makes originals obsolete",
        names="base_5 base_10 000000_0 000001_1 subdir/000000_0",
        write_ids="150::",
        base="base_10",
        obsolete="000000_0 000001_1 base_5 subdir/000000_0",
    ),
    Case(
        title="a wide delta over the base hides the narrow ones",
        names="delta_0000063_63 delta_000062_62 delta_00061_61 delta_40_60 delta_0060_60 "
        "delta_052_55 base_50",
        write_ids="100::",
        base="base_50",
        deltas="delta_40_60 delta_00061_61 delta_000062_62 delta_0000063_63",
        obsolete="delta_0060_60 delta_052_55",
    ),
    Case(
        title="all statements of a write id are kept, unless compacted",
        names="delta_0000063_63_0 delta_000062_62_0 delta_000062_62_3 delta_00061_61_0 delta_40_60 "
        "delta_0060_60_1 delta_0060_60_4 delta_0060_60_7 delta_052_55 delta_058_58 base_50",
        write_ids="100::",
        base="base_50",
        deltas="delta_40_60 delta_00061_61_0 delta_000062_62_0 delta_000062_62_3 "
        "delta_0000063_63_0",
        obsolete="delta_0060_60_1 delta_0060_60_4 delta_0060_60_7 delta_052_55 delta_058_58",
    ),
    Case(
        title="an open write id inside a streaming delta",
        names="delta_1_1 delta_2_5",
        write_ids="100:4:",
        deltas="delta_1_1 delta_2_5",
    ),
    Case(
        title="statements of an open write id are not seen and not obsolete",
        names="delta_1_1 delta_2_5 delta_4_4_1 delta_4_4_3 delta_101_101_1",
        write_ids="100:4:",
        deltas="delta_1_1 delta_2_5",
    ),
    Case(
        title="delete deltas are selected as deltas are",
        names="base_5 base_10 base_49 delta_025_025 delta_029_029 delete_delta_029_029 "
        "delta_025_030 delete_delta_025_030 delta_050_105 delete_delta_050_105 "
        "delete_delta_110_110",
        write_ids="100::",
        base="base_49",
        deltas="delete_delta_050_105 delta_050_105",
        obsolete="base_10 base_5 delete_delta_025_030 delete_delta_029_029 delta_025_025 "
        "delta_025_030 delta_029_029",
    ),
    Case(
        title="a compacted delta makes a delete delta within its range obsolete",
        names="delta_40_60 delete_delta_50_50",
        write_ids="100::",
        deltas="delta_40_60",
        obsolete="delete_delta_50_50",
    ),
    Case(
        title="a delete delta of an open write id",
        names="delta_1_1 delta_2_5 delete_delta_2_5 delete_delta_3_3 delta_4_4_1 delta_4_4_3 "
        "delta_101_101_1",
        write_ids="100:4:",
        deltas="delta_1_1 delete_delta_2_5 delta_2_5",
        obsolete="delete_delta_3_3",
    ),
    Case(
        title="a minor compaction of one transaction hides its statements",
        names="delta_0000005_0000005_v0000009 delta_0000005_0000005_0000 "
        "delete_delta_0000005_0000005_v0000009 delete_delta_0000005_0000005_0001",
        write_ids="5::",
        deltas="delete_delta_0000005_0000005_v0000009 delta_0000005_0000005_v0000009",
        obsolete="delete_delta_0000005_0000005_0001 delta_0000005_0000005_0000",
    ),
    Case(
        title="of two compactions of one range the newer wins",
        names="delta_1_2_v10 delta_1_2_v9 delete_delta_1_2_v9 delete_delta_1_2_v10 delta_3_3_0",
        write_ids="3::",
        deltas="delete_delta_1_2_v10 delta_1_2_v10 delta_3_3_0",
        obsolete="delete_delta_1_2_v9 delta_1_2_v9",
    ),
    Case(
        title="both halves of an update, of one statement or of two",
        names="delta_2_2_0001 delete_delta_2_2_0000 delta_3_3_0000 delete_delta_3_3_0000",
        write_ids="3::",
        deltas="delete_delta_2_2_0000 delta_2_2_0001 delete_delta_3_3_0000 delta_3_3_0000",
    ),
    Case(
        title="a compaction in progress is not seen",
        names="base_2_v7 delta_1_1_0 delta_2_2_0 delta_1_2_v7 delete_delta_1_2_v7",
        write_ids="2::",
        txns="6:6:6:",
        deltas="delta_1_1_0 delta_2_2_0",
    ),
    Case(
        title="an open compaction below the transactions' mark is not seen",
        names="base_2_v5 delta_1_1_0 delta_2_2_0",
        write_ids="2::",
        txns="6:5:5:",
        deltas="delta_1_1_0 delta_2_2_0",
    ),
    Case(
        title="an aborted compaction is listed as aborted",
        names="base_2_v5 delta_1_2_v4 delta_1_1_0 delta_2_2_0",
        write_ids="2::",
        txns=f"6:{NONE_OPEN}::4,5",
        deltas="delta_1_1_0 delta_2_2_0",
        aborted="base_2_v5 delta_1_2_v4",
    ),
    Case(
        title="aborted writes are listed as aborted",
        names="base_4 delta_1_1_0 delta_2_2_0 delta_3_5 delta_6_7",
        write_ids="7::2,4,6,7",
        deltas="delta_1_1_0 delta_3_5",
        aborted="base_4 delta_2_2_0 delta_6_7",
    ),
    Case(
        title="a compacted base above an aborted write id",
        names="base_3_v9 delta_1_1_0 delta_2_2_0 delta_3_3_0 delta_4_4_0",
        write_ids="4::3",
        base="base_3_v9",
        deltas="delta_4_4_0",
        obsolete="delta_1_1_0 delta_2_2_0",
        aborted="delta_3_3_0",
    ),
    Case(
        title="minor compactions before and after a base",
        names="delta_1_3_v4 base_5_v8 delta_6_7_v9 delta_6_6_0 delta_7_7_0 delete_delta_6_7_v9",
        write_ids="7::",
        base="base_5_v8",
        deltas="delete_delta_6_7_v9 delta_6_7_v9",
        obsolete="delta_1_3_v4 delta_6_6_0 delta_7_7_0",
    ),
    Case(
        title="of two bases of one write id the compacted one wins",
        names="base_5 base_5_v8 delta_6_6_0",
        write_ids="6::",
        base="base_5_v8",
        deltas="delta_6_6_0",
        obsolete="base_5",
    ),
    Case(
        title="the same with Hive 3's metadata file",
        names="base_5 base_0000005",
        write_ids="6::",
        metadata={"base_5": "compacted"},
        base="base_5",
        obsolete="base_0000005",
    ),
    Case(
        title="INSERT OVERWRITE above an open write id",
        names="delta_1_1_0 delta_2_2_0 base_3 delta_4_4_0",
        write_ids="4:2:",
        base="base_3",
        deltas="delta_4_4_0",
        obsolete="delta_1_1_0",
    ),
    Case(
        title="an open INSERT OVERWRITE is not seen, though it is the lowest open write id",
        names="delta_1_1_0 base_2",
        write_ids="2:2:",
        deltas="delta_1_1_0",
    ),
    Case(
        title="an INSERT OVERWRITE above the high-water mark is not seen",
        names="delta_1_1_0 base_2",
        write_ids="1::",
        deltas="delta_1_1_0",
    ),
    Case(
        title="a truncated table",
        names="delta_1_1_0 base_2",
        write_ids="2::",
        metadata={"base_2": "truncated"},
        base="base_2",
        obsolete="delta_1_1_0",
    ),
    Case(
        title="the first compaction of a converted table",
        names="000000_0 base_-9223372036854775808_v3 delta_10000001_10000001_0000",
        write_ids="10000001::",
        base="base_-9223372036854775808_v3",
        deltas="delta_10000001_10000001_0000",
        obsolete="000000_0",
    ),
    Case(title="an empty directory", names="", write_ids="5::"),
]


def _write_ids(text: str) -> ValidWriteIdList:
    """Parse ``mark:open,…:aborted,…``."""
    mark, *lists = text.split(":")
    opened, aborted = (frozenset(map(int, filter(None, part.split(",")))) for part in lists)
    return ValidWriteIdList(table="db.t", high_water_mark=int(mark), open=opened, aborted=aborted)


def _names(state: AcidState) -> dict[str, object]:
    return {
        "base": state.base.name if state.base else None,
        "deltas": " ".join(delta.name for delta in state.deltas),
        "originals": " ".join(state.originals),
        "obsolete": " ".join(state.obsolete),
        "aborted": " ".join(state.aborted),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
@pytest.mark.parametrize("order", [list, lambda names: list(names)[::-1]], ids=["as is", "reverse"])
def test_selection(case: Case, order: type[list[str]]) -> None:
    state = select(
        order(case.names.split()),
        _write_ids(case.write_ids),
        ValidTxnList.from_string(case.txns),
        case.metadata,
    )
    assert _names(state) == {
        "base": case.base,
        "deltas": case.deltas,
        "originals": case.originals,
        "obsolete": case.obsolete,
        "aborted": case.aborted,
    }


def _compact(names: str, high_water_mark: int, aborted: Iterable[int] = ()) -> AcidState:
    write_ids = CompactorWriteIdList(
        table="db.t", high_water_mark=high_water_mark, aborted=frozenset(aborted)
    )
    return select(names.split(), write_ids, ValidTxnList(high_water_mark=100))


def test_a_compactor_takes_no_half_of_a_streaming_delta() -> None:
    state = _compact("delta_1_1 delta_2_5", 4)
    assert _names(state)["deltas"] == "delta_1_1"
    state = _compact("delta_1_1 delta_2_5 delta_6_10", 3)
    assert _names(state)["deltas"] == "delta_1_1"


def test_a_compactor_filters_the_aborted_rows_of_a_streaming_delta() -> None:
    state = _compact("delta_1_1 delta_2_5 delta_6_6", 6, [3, 6])
    assert _names(state)["deltas"] == "delta_1_1 delta_2_5"
    assert state.aborted == ("delta_6_6",)
    write_ids = CompactorWriteIdList(table="db.t", high_water_mark=6, aborted=frozenset({3, 6}))
    assert [needs_row_filter(delta, write_ids) for delta in state.deltas] == [False, True]


@pytest.mark.parametrize(
    ("names", "metadata", "write_ids"),
    [
        ("base_10_v50 delta_11_11_0", {}, "12:5:"),
        ("base_10_v50", {}, "9::"),
        ("base_10", {"base_10": "compacted"}, "9::"),
        ("base_10_v50 base_12_v60", {}, "9::"),
    ],
)
def test_a_snapshot_older_than_the_oldest_base_is_refused(
    names: str, metadata: dict[str, str], write_ids: str
) -> None:
    with pytest.raises(AcidAnalysisError) as error:
        select(names.split(), _write_ids(write_ids), ValidTxnList(high_water_mark=99), metadata)
    assert error.value.getCondition() == "ACID_NOT_ENOUGH_HISTORY"
    assert "base_10" in str(error.value)


@pytest.mark.parametrize("name", ["base_x", "delta_1", "delete_delta_2_1", "delta_1_1.bak"])
def test_a_name_that_only_starts_like_an_acid_directory_is_refused(name: str) -> None:
    with pytest.raises(FormatError) as error:
        select([name], _write_ids("9::"), ValidTxnList(high_water_mark=99))
    assert error.value.getCondition() == "INVALID_DIRECTORY_NAME"


def test_an_unknown_data_format_is_refused() -> None:
    with pytest.raises(FormatError) as error:
        select(["base_1"], _write_ids("9::"), ValidTxnList(high_water_mark=9), {"base_1": "zipped"})
    assert error.value.getCondition() == "INVALID_BASE_METADATA"


def test_kinds_of_deltas() -> None:
    names = "delta_1_1_0 delete_delta_2_2_0 delta_2_2_0"
    state = select(names.split(), _write_ids("2::"), ValidTxnList(high_water_mark=9))
    assert [delta.name for delta in state.insert_deltas] == ["delta_1_1_0", "delta_2_2_0"]
    assert [delta.name for delta in state.delete_deltas] == ["delete_delta_2_2_0"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("", 0),
        ("000000_0 _orc_acid_version base_x", 0),
        ("base_-9223372036854775808_v2", 0),
        ("base_7_v9 delta_3_8 delete_delta_10000001_10000001_0", 10_000_001),
    ],
)
def test_max_write_id(names: str, expected: int) -> None:
    assert max_write_id(names.split()) == expected


@pytest.mark.parametrize(
    ("name", "write_ids", "expected"),
    [
        ("delta_1_5", "5::", False),
        ("delta_1_5", "4::", True),
        ("delta_1_5", "9:3:", True),
        ("delete_delta_1_5_v7", "9::2", True),
        ("base_5_v7", "9::2", False),
        ("base_5", "9:2:", False),
    ],
)
def test_needs_row_filter(name: str, write_ids: str, expected: bool) -> None:
    directory = parse_directory(name)
    assert directory is not None
    assert needs_row_filter(directory, _write_ids(write_ids)) is expected
