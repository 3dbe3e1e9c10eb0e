"""Tests of the options with which changes are read."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from acidsql.datasource.change_options import ChangeOptions, change_options
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.moments import TimeMoment, TransactionMoment, WriteIdMoment

_ZONE = ZoneInfo("Europe/Berlin")


def read(**given: str) -> ChangeOptions | None:
    return change_options({"readchangefeed": "true", **given}, _ZONE)


def test_rows_are_read_without_the_option() -> None:
    assert change_options({"versionasof": "1"}, _ZONE) is None
    assert change_options({"readchangefeed": "false"}, _ZONE) is None


def test_bounds() -> None:
    assert read() == ChangeOptions()
    assert read(startingversion="3", endingversion="txn 7") == ChangeOptions(
        first=WriteIdMoment(write_id=3), last=TransactionMoment(txn_id=7)
    )
    assert read(startingversion="latest") == ChangeOptions(from_now=True)
    found = read(startingtimestamp="1970-01-01 01:00:01", startingboundinclusive="FALSE")
    assert found == ChangeOptions(first=TimeMoment(microseconds=1_000_000), includes_first=False)


def test_form() -> None:
    assert read(keys="id, P", deduplicationmode="netChanges") == ChangeOptions(
        keys=("id", "P"), net=True
    )


@pytest.mark.parametrize(
    "given",
    [
        {"readchangefeed": "yes"},
        {"readchangefeed": "false", "startingversion": "1"},
        {"startingversion": "one"},
        {"startingversion": "1", "startingtimestamp": "2024-01-01"},
        {"startingversion": "latest", "startingtimestamp": "2024-01-01"},
        {"versionasof": "1"},
        {"deduplicationmode": "all"},
        {"startingboundinclusive": "false"},
        {"endingboundinclusive": "false", "startingversion": "1"},
        {"endingboundinclusive": "no", "endingversion": "1"},
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        change_options({"readchangefeed": "true", **given}, _ZONE)
    assert caught.value.condition == "INVALID_PARAMETER_VALUE.CHANGES"
