"""Sources of copies; what a session needs for them, reported in a sentence. No Spark."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest

from acidsql.copies.places import ForeignTable
from acidsql.copies.sources import open_source
from acidsql.errors import AcidAnalysisError

_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def _open(extensions: str) -> MagicMock:
    """Open a table of Delta Lake in a session with some extensions, which has no such table."""
    spark = MagicMock()
    spark.conf.get.return_value = extensions
    spark.sql.side_effect = LookupError("no such table")
    open_source(spark, MagicMock(), ForeignTable(format="delta", name="/t"), {}, None, None)
    return spark


@pytest.mark.parametrize("extensions", ["", "org.apache.iceberg.IcebergSparkSessionExtensions"])
def test_a_session_without_delta_lake_is_told_how_to_start(extensions: str) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        _open(extensions)
    assert caught.value.getCondition() == "DELTA_EXTENSION_MISSING"
    assert str(caught.value).startswith(
        "[DELTA_EXTENSION_MISSING] this Spark session has no Delta Lake: start it with the package "
        f"of Delta Lake (spark.jars.packages), spark.sql.extensions={_EXTENSION} and "
        "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
    )


@pytest.mark.parametrize("extensions", [_EXTENSION, f"other.Extension,{_EXTENSION}"])
def test_a_session_with_delta_lake_goes_on(extensions: str) -> None:
    with pytest.raises(LookupError, match="no such table"):
        _open(extensions)
