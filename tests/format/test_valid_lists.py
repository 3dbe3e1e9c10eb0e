from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.format.valid_lists import (
    RangeValidity,
    ValidTxnList,
    ValidWriteIdList,
    compactor_write_ids,
)

IDS = st.frozensets(st.integers(min_value=1, max_value=30), max_size=12)


@st.composite
def write_id_lists(draw: st.DrawFn) -> ValidWriteIdList:
    mark = draw(st.integers(min_value=0, max_value=30))
    exceptions = frozenset(number for number in draw(IDS) if number <= mark)
    aborted = exceptions & draw(IDS)
    return ValidWriteIdList(
        table="db.t", high_water_mark=mark, open=exceptions - aborted, aborted=aborted
    )


def _share(flags: list[bool]) -> RangeValidity:
    if not any(flags):
        return RangeValidity.NONE
    return RangeValidity.ALL if all(flags) else RangeValidity.SOME


# What Hive's ValidReaderWriteIdList says of the ids 0 to 10 (valid, aborted, or else), and of all
# ranges within 1 to 10 (valid, then aborted: All, Some, None), from hive-storage-api 2.8.1.
HIVE = [
    (
        "default.t:6:3:3:4",
        "vvvoavvoooo",
        "AASSSSSSSSASSSSSSSSNNSSSSSSNSSSSSSAASSSSASSSSNNNNNNNNNN",
        "NNNSSSSSSSNNSSSSSSSNSSSSSSSASSSSSSNNNNNNNNNNNNNNNNNNNNN",
    ),
    (
        "default.t:1:9223372036854775807::",
        "vvooooooooo",
        "ASSSSSSSSSNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN",
        "N" * 55,
    ),
    ("default.t:0:9223372036854775807::", "voooooooooo", "N" * 55, "N" * 55),
    (
        "default.t:9:2:2,7:3,5",
        "vvoavavovvo",
        "ASSSSSSSSSNNSSSSSSSNSSSSSSSASSSSSSNSSSSSASSSSNSSSAASASN",
        "NNSSSSSSSSNSSSSSSSSASSSSSSSNSSSSSSASSSSSNNNNNNNNNNNNNNN",
    ),
    (
        "default.t:9:9223372036854775807::3,5,9",
        "vvvavavvvao",
        "AASSSSSSSSASSSSSSSSNSSSSSSSASSSSSSNSSSSSAAASSAASSASSNNN",
        "NNSSSSSSSSNSSSSSSSSASSSSSSSNSSSSSSASSSSSNNNSSNNSSNSSASN",
    ),
]


@pytest.mark.parametrize(("text", "ids", "valid", "aborted"), HIVE)
def test_write_id_lists_agree_with_hive(text: str, ids: str, valid: str, aborted: str) -> None:
    parsed = ValidWriteIdList.from_string(text)
    ranges = [(low, high) for low in range(1, 11) for high in range(low, 11)]
    assert parsed.to_string() == text
    assert ids == "".join(
        "v" if parsed.is_valid(number) else "a" if parsed.is_aborted(number) else "o"
        for number in range(11)
    )
    assert valid == "".join(parsed.range_validity(*bounds).name[0] for bounds in ranges)
    assert aborted == "".join(parsed.range_aborted(*bounds).name[0] for bounds in ranges)


@pytest.mark.parametrize(
    "text", ["12:5:5,9:7", "12:9223372036854775807::", "12:5:5:", "0:9223372036854775807::"]
)
def test_transaction_lists_print_as_hive_does(text: str) -> None:
    parsed = ValidTxnList.from_string(text)
    assert parsed.to_string() == text
    assert parsed.is_valid(0)


def test_transaction_list_fields() -> None:
    parsed = ValidTxnList.from_string("12:5:9,5:7")
    assert parsed == ValidTxnList(
        high_water_mark=12, open=frozenset({5, 9}), aborted=frozenset({7})
    )
    assert parsed.min_open == 5
    assert [number for number in range(15) if parsed.is_valid(number)] == [
        *range(5),
        6,
        8,
        10,
        11,
        12,
    ]
    assert parsed.is_aborted(7)
    assert not parsed.is_aborted(5)


def test_ranges_of_hive_4_are_read() -> None:
    parsed = ValidTxnList.from_string("40:5:5-9,11:20-24,30")
    assert parsed.open == {5, 6, 7, 8, 9, 11}
    assert parsed.aborted == {20, 21, 22, 23, 24, 30}
    assert parsed.to_string() == "40:5:5,6,7,8,9,11:20,21,22,23,24,30"


@pytest.mark.parametrize(
    "text",
    [
        *("", "t", "t:1", "t:1:2", "t:x:1::", "t:5:3:4:", "t:5:3::", "t:5:3:3:4:5", "t:5:3:3,a:"),
        *("t:1_0:11::", "t: 5:6::", "t:\u0665:6::", "t:+5:6::", "t:5:6:-1:"),
        *("t:9223372036854775807:1:1-9223372036854775807:", "t:99999999:1:1-9999999:"),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(FormatError) as error:
        ValidWriteIdList.from_string(text)
    assert error.value.getCondition() == "INVALID_SNAPSHOT_TEXT"


@given(write_id_lists())
def test_texts_round_trip(write_ids: ValidWriteIdList) -> None:
    assert ValidWriteIdList.from_string(write_ids.to_string()) == write_ids


@given(
    write_id_lists(),
    st.integers(min_value=0, max_value=40),
    st.integers(min_value=0, max_value=40),
)
def test_ranges_agree_with_their_ids(write_ids: ValidWriteIdList, low: int, width: int) -> None:
    ids = range(low, low + width + 1)
    bounds = low, low + width
    assert write_ids.range_validity(*bounds) == _share([write_ids.is_valid(i) for i in ids])
    assert write_ids.range_aborted(*bounds) == _share([write_ids.is_aborted(i) for i in ids])


def test_transactions_up_to_one_of_them() -> None:
    txns = ValidTxnList.from_string("12:5:5,9:7,11")
    assert txns.up_to(9).to_string() == "9:5:5,9:7"
    assert txns.up_to(4).to_string() == f"4:{2**63 - 1}::"
    assert txns.up_to(12) == txns.up_to(13) == txns


@given(write_id_lists())
def test_a_compactor_sees_nothing_open(write_ids: ValidWriteIdList) -> None:
    compactor = compactor_write_ids(write_ids)
    mark = min((*write_ids.open, write_ids.high_water_mark + 1)) - 1
    assert compactor.high_water_mark == mark
    assert compactor.min_open is None
    for number in range(1, 35):
        assert compactor.is_valid(number) == (number <= mark and write_ids.is_valid(number))
        assert compactor.is_aborted(number) == (number <= mark and number in write_ids.aborted)


def test_compactor_ranges_agree_with_hive() -> None:
    compactor = compactor_write_ids(ValidWriteIdList.from_string("default.t:6:5:5:3,4"))
    assert compactor.to_string() == "default.t:4:9223372036854775807::3,4"
    assert compactor.range_validity(3, 4) is RangeValidity.ALL
    assert compactor.range_validity(1, 5) is RangeValidity.NONE
    assert compactor.range_aborted(3, 4) is RangeValidity.ALL


def test_a_long_list_is_cheap_to_ask() -> None:
    write_ids = ValidWriteIdList(
        table="db.t", high_water_mark=10**6, aborted=frozenset(range(1, 10**6, 2))
    )
    verdicts = {write_ids.range_validity(number, number) for number in range(1, 20_001)}
    assert verdicts == {RangeValidity.NONE, RangeValidity.ALL}
    assert write_ids.range_validity(1, 10**12) is RangeValidity.SOME
