"""Advice about tables, as a table of examples."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.format.health import Health, OpenTransaction, advice, thresholds
from acidsql.format.thresholds import Thresholds

NOW = 1_800_000_000.0
MAJOR = "run ALTER TABLE db.t COMPACT 'major'."
MINOR = "run ALTER TABLE db.t COMPACT 'minor'."
ANN = OpenTransaction(txn_id=17, user="ann", host="north", started=int(NOW) - 7260)
SINCE = "Transaction 17 of ann on north, open since 2027-01-15 05:59:00 UTC (121 min),"
BASE = Health(base="base_0000005", base_bytes=1_000_000, stored_rows=1_000, files=1, size=1_000_000)

EXAMPLES = {
    "no files": (Health(), []),
    "only a base": (BASE, []),
    "few small deltas": (replace(BASE, deltas=4, delete_deltas=5, delta_bytes=1_000), []),
    "many deltas": (
        replace(BASE, deltas=6, delete_deltas=4, delta_bytes=1_000),
        [f"10 deltas are read one by one: {MINOR}"],
    ),
    "many deltas, no base": (
        Health(deltas=10, delta_bytes=1_000),
        [f"10 deltas are read one by one: {MAJOR}"],
    ),
    "deltas of a tenth of the base": (replace(BASE, deltas=1, delta_bytes=100_000), []),
    "larger deltas": (
        replace(BASE, deltas=1, delta_bytes=350_000),
        [f"The deltas have 35% of the bytes of the base: {MAJOR}"],
    ),
    "empty base": (
        replace(BASE, base_bytes=0, deltas=1, delta_bytes=1),
        [f"The deltas have more of the bytes of the base: {MAJOR}"],
    ),
    "few deleted rows": (replace(BASE, delete_deltas=1, delete_events=99), []),
    "deleted rows": (
        replace(BASE, deltas=9, delete_deltas=9, delete_events=230),
        [f"23% of the stored rows are deleted and still read: {MAJOR}"],
    ),
    "deleted rows, number of rows unknown": (
        replace(BASE, delete_deltas=1, delete_events=500, stored_rows=None),
        [],
    ),
    "small files": (
        replace(BASE, deltas=2, small_files=11),
        [f"11 files are small: {MAJOR}"],
    ),
    "small files of a base, which a compaction would not merge": (
        replace(BASE, small_files=11),
        [],
    ),
    "originals": (Health(originals=3), []),
    "originals and a delta": (
        Health(originals=3, deltas=1),
        [f"3 files without row ids from before the table was transactional: {MAJOR}"],
    ),
    "compaction on its way": (
        replace(BASE, deltas=50, pending=1),
        ["1 compaction is on the way: see SHOW COMPACTIONS."],
    ),
    "failed compaction": (
        replace(BASE, failure="[SYNC_FAILED] the disk is full."),
        [
            "The last compaction failed ([SYNC_FAILED] the disk is full): remove the cause, then "
            "run ALTER TABLE db.t COMPACT again."
        ],
    ),
    "cleaning held back": (
        replace(BASE, oldest=ANN, uncleaned=2, held_back=2, obsolete=9, open_write_ids=1),
        [f"{SINCE} holds back the cleaning after 2 compactions: end it, or ABORT TRANSACTIONS 17."],
    ),
    "cleaning possible": (
        replace(BASE, oldest=ANN, uncleaned=1, obsolete=9),
        ["9 old directories can be removed: run acidsql.run_cleaner(spark)."],
    ),
    "aborted": (
        replace(BASE, aborted=1),
        ["1 directory of aborted transactions: the next compaction removes them."],
    ),
    "old writer": (
        replace(BASE, oldest=ANN, open_write_ids=2),
        [
            f"{SINCE} is open while 2 writes to the table have not ended, and no compaction goes "
            "beyond them: end it, or ABORT TRANSACTIONS 17."
        ],
    ),
    "young writer": (
        replace(BASE, oldest=replace(ANN, started=int(NOW) - 60), open_write_ids=2),
        [],
    ),
    "old reader of another table": (replace(BASE, oldest=ANN), []),
}


@pytest.mark.parametrize(("health", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_advice(health: Health, expected: list[str]) -> None:
    assert list(advice(health, Thresholds(), "db.t", NOW)) == expected


def test_table_without_minor_compactions() -> None:
    health = replace(BASE, deltas=10, delta_bytes=1_000)
    expected = (f"10 deltas are read one by one: {MAJOR}",)
    assert advice(health, Thresholds(), "db.t", NOW, minor=False) == expected


def test_thresholds_of_a_table() -> None:
    prefix = "compactorthreshold.hive.compactor.delta"
    assert thresholds({}) == Thresholds(delta_num=10, delta_pct=0.1)
    own = {f"{prefix}.num.threshold": "3", f"{prefix}.pct.threshold": "0.5"}
    assert thresholds(own) == Thresholds(delta_num=3, delta_pct=0.5)
    assert thresholds({f"{prefix}.num.threshold": "many"}) == Thresholds(
        delta_num=10, delta_pct=0.1
    )
    assert advice(replace(BASE, deltas=3), thresholds(own), "db.t", NOW)
    assert not advice(replace(BASE, deltas=2), thresholds(own), "db.t", NOW)


@pytest.mark.parametrize(
    ("stored", "deleted", "share"), [(0, 0, 0.0), (4, 1, 0.25), (4, 5, 1.0), (None, 5, None)]
)
def test_deleted_share(stored: int | None, deleted: int, share: float | None) -> None:
    assert Health(stored_rows=stored, delete_events=deleted).deleted_share == share


_numbers = st.integers(0, 30)


@given(
    st.builds(
        Health,
        base=st.sampled_from([None, "base_0000005"]),
        base_bytes=_numbers,
        deltas=_numbers,
        delete_deltas=_numbers,
        delta_bytes=_numbers,
        originals=_numbers,
        stored_rows=st.none() | _numbers,
        delete_events=_numbers,
        small_files=_numbers,
        obsolete=_numbers,
        aborted=_numbers,
        open_write_ids=_numbers,
        oldest=st.none() | st.just(ANN),
        pending=_numbers,
        uncleaned=_numbers,
        held_back=_numbers,
        failure=st.none() | st.text(),
    )
)
def test_each_advice_is_one_sentence_and_no_two_say_the_same(health: Health) -> None:
    given_advice = advice(health, Thresholds(), "db.t", NOW)
    assert len(set(given_advice)) == len(given_advice) <= 4
    assert all(sentence.endswith(".") for sentence in given_advice)
    merging = [s for s in given_advice if "COMPACT '" in s]
    assert len(merging) <= (0 if health.pending else 1)


def test_where_a_server_cleans() -> None:
    health = replace(BASE, uncleaned=1, obsolete=1)
    expected = (
        "1 old directory can be removed: the cleaner of the Hive Metastore does it; see its log if "
        "it does not.",
    )
    assert advice(health, Thresholds(), "db.t", NOW, server_cleans=True) == expected
