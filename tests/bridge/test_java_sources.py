"""Tests of Java sources that the driver compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.bridge.java_sources import class_loader, compiled
from acidsql.errors import AcidAnalysisError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_what_a_release_of_spark_lacks_is_named(spark: SparkSession) -> None:
    text = "import org.apache.spark.NoSuchClass; public class Lacking { NoSuchClass lacking; }"
    with pytest.raises(AcidAnalysisError, match="NoSuchClass") as raised:
        compiled(spark, class_loader(spark), text)
    assert raised.value.getCondition() == "UNSUPPORTED_SPARK_VERSION"


def test_a_text_is_compiled_once(spark: SparkSession) -> None:
    text = "public class Once {}"
    loader = compiled(spark, class_loader(spark), text)
    assert compiled(spark, class_loader(spark), text) is loader
