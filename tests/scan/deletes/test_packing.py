"""Row ids as single numbers, without Spark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.format.bucket_codec import encode
from acidsql.scan.deletes.packing import Keys, Range, most_words, packing_of
from acidsql.storage.delete_files import RowId
from tests.packed_numbers import packed_number

_ids = st.builds(
    RowId,
    st.integers(0, 2**15),
    st.builds(encode, st.integers(0, 4095), st.integers(0, 3)),
    st.integers(0, 2**20),
)

_few_ids = st.builds(
    RowId, st.integers(1, 2), st.sampled_from([encode(0), encode(0, 1)]), st.integers(0, 300)
)


def _keys(*events: RowId) -> Keys:
    return Keys(*(Range(min(part), max(part)) for part in zip(*events, strict=True)))


def _packing(*files: Keys | None, partitions: int = 1) -> tuple[int, ...] | None:
    found = packing_of(files, partitions)
    return None if found is None else found.bits


@given(
    files=st.lists(st.lists(_ids, min_size=1, max_size=4), max_size=3),
    partitions=st.integers(1, 40),
)
def test_each_row_id_has_a_number_of_its_own(files: list[list[RowId]], partitions: int) -> None:
    packing = packing_of([_keys(*events) for events in files], partitions)
    if packing is None:  # too many bits: of a file with several buckets any statement is thought of
        assert any(len({event.bucket >> 16 for event in events}) > 1 for events in files)
        return
    places = {(p, event) for p in (0, partitions - 1) for own in files for event in own}
    numbers = {packed_number(packing, ordinal, event) for ordinal, event in places}
    assert len(numbers) == len(places)
    assert all(0 <= number < 2**62 for number in numbers)


def test_a_table_that_grows_keeps_its_packing() -> None:
    one = _keys(RowId(1, encode(0), 5))
    more = _keys(RowId(1, encode(1), 0), RowId(9, encode(1), 200))
    assert _packing(one) == _packing(one, more) == (0, 8, 8, 0, 8)
    assert _packing(one, _keys(RowId(200, encode(3, 1), 2**20))) == (0, 8, 8, 8, 24)


def test_fields_are_narrower_where_many_are_needed() -> None:
    wide = _keys(RowId(2**20, encode(4095), 2**24))
    assert _packing(wide) == (0, 21, 12, 0, 25)
    assert _packing(wide, partitions=16) == (4, 21, 12, 0, 25)
    assert _packing(wide, partitions=17) is None


def test_row_ids_that_are_not_packed() -> None:
    assert _packing(None) is None
    assert _packing(_keys(RowId(1, 0, 0))) is None  # a bucket of version 0
    assert _packing(_keys(RowId(1, 2 << 29, 0))) is None
    assert _packing(_keys(RowId(2**40, encode(0), 2**40))) is None


def test_words_are_counted_by_row_ids() -> None:
    bucket = encode(0)
    events = {
        2: (63, 64),
        1: (64, 127),
        3: (0, 1, 64, 128),
    }
    for expected, row_ids in events.items():
        keys = _keys(*(RowId(1, bucket, row_id) for row_id in row_ids))
        assert most_words([(0, len(row_ids), keys)]) == expected
    assert most_words([(0, 5, None)]) == 5
    assert most_words([(0, 7, _keys(RowId(1, bucket, 64), RowId(2, bucket, 64)))]) == 7


def test_words_of_several_files_are_counted_once() -> None:
    one, other = (_keys(RowId(1, encode(0), 0), RowId(1, encode(0), most)) for most in (640, 6400))
    elsewhere = _keys(RowId(1, encode(1), 0), RowId(1, encode(1), 640))
    assert most_words([(0, 600, one), (0, 600, other)]) == 101
    assert most_words([(0, 600, one), (1, 600, one), (0, 600, elsewhere)]) == 33
    assert most_words([(0, 6, one), (0, 60, other)]) == 66


@given(
    st.lists(st.tuples(st.integers(0, 1), st.lists(_few_ids, min_size=1, max_size=30)), max_size=4)
)
def test_there_are_no_more_words_than_are_counted(files: list[tuple[int, list[RowId]]]) -> None:
    most = most_words((ordinal, len(own), _keys(*own)) for ordinal, own in files)
    found = {(o, e.write_id, e.bucket, e.row_id >> 6) for o, own in files for e in own}
    assert len(found) <= most <= sum(len(own) for _, own in files)
