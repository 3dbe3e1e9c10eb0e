"""Tests of the options of the data source."""

from __future__ import annotations

import pytest

from acidsql.datasource.options import Defaults, source_options
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.moments import TimeMoment, WriteIdMoment


def test_options_go_before_defaults() -> None:
    defaults = Defaults(metastore="thrift://one:9083", time_zone="UTC")
    given = {"path": "db.t", "timezone": "Europe/Berlin", "columns": " a,b ", "versionasof": "7"}
    found = source_options(given, defaults)
    assert found.table == "db.t"
    assert found.settings.metastore == "thrift://one:9083"
    assert found.zone.key == "Europe/Berlin"
    assert found.columns == ("a", "b")
    assert found.moment == WriteIdMoment(write_id=7)


def test_a_time_without_a_zone_is_local() -> None:
    given = {"table": "t", "timezone": "Europe/Berlin", "timestampasof": "1970-01-01 02:00:00.5"}
    moment = source_options(given, Defaults()).moment
    assert moment == TimeMoment(microseconds=3_600_500_000)
    given["timestampasof"] = "1970-01-01T00:00:01+00:00"
    assert source_options(given, Defaults()).moment == TimeMoment(microseconds=1_000_000)


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ({}, "INVALID_PARAMETER_VALUE"),
        ({"path": "t", "timestampasof": "yesterday"}, "INVALID_PARAMETER_VALUE"),
        ({"path": "t", "timestampasof": "2024-01-01", "timezone": "+9"}, "INVALID_PARAMETER_VALUE"),
        ({"path": "t", "versionasof": "x"}, "VERSION_NOT_FOUND"),
        ({"path": "t", "versionasof": "1", "timestampasof": "2024"}, "INVALID_TIME_TRAVEL_SPEC"),
    ],
)
def test_what_is_refused(given: dict[str, str], condition: str) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        source_options(given, Defaults())
    assert caught.value.condition == condition
