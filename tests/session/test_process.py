"""Sessions that acidsql cannot work in, reported in a sentence; no Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import acidsql
from acidsql import dbapi
from acidsql.errors import AcidAnalysisError
from acidsql.session.process import check_session


class _ConnectSession:
    """Stand-in for ``pyspark.sql.connect.session.SparkSession``, whose packages are an extra."""


_ConnectSession.__module__ = "pyspark.sql.connect.session"


def test_a_session_of_spark_connect_is_refused() -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        check_session(_ConnectSession())
    assert caught.value.getCondition() == "UNSUPPORTED_SESSION"
    assert str(caught.value).startswith(
        "[UNSUPPORTED_SESSION] this is a session of Spark Connect, and acidsql needs one that has "
        "started Spark itself: let the server be `acidsql serve --connect`, whose clients use "
        "spark.sql, or see "
    )


def test_a_session_of_spark_connect_is_not_enabled() -> None:
    for switch in (acidsql.enable, acidsql.disable):
        with pytest.raises(TypeError) as caught:
            switch(_ConnectSession())
        assert str(caught.value).endswith(
            "is not a pyspark.sql.SparkSession: use a session that is not one of Spark Connect"
        )


@pytest.mark.parametrize(
    "call",
    [
        acidsql.register,
        lambda spark: acidsql.changes(spark, "t", from_version=1),
        lambda spark: acidsql.changes(spark, "t", from_timestamp="2024-01-01"),
        lambda spark: acidsql.changes_since(spark, "t", None),
    ],
)
def test_a_session_of_spark_connect_is_refused_before_it_is_used(
    call: Callable[[Any], object],
) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        call(_ConnectSession())
    assert caught.value.getCondition() == "UNSUPPORTED_SESSION"


def test_a_session_of_spark_connect_gets_no_connection() -> None:
    with pytest.raises(dbapi.Error) as caught:
        acidsql.connect(_ConnectSession())
    assert caught.value.condition == "UNSUPPORTED_SESSION"
