"""Tests of Java sources that the driver compiles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from acidsql.bridge.java_sources import compiled
from acidsql.errors import AcidAnalysisError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from acidsql.bridge import JavaObject

pytestmark = pytest.mark.spark


def test_what_a_release_of_spark_lacks_is_named(spark: SparkSession) -> None:
    text = "import org.apache.spark.NoSuchClass; public class Lacking { NoSuchClass lacking; }"
    with pytest.raises(AcidAnalysisError, match="NoSuchClass") as raised:
        compiled(spark, text)
    assert raised.value.getCondition() == "UNSUPPORTED_SPARK_VERSION"


def test_a_text_is_compiled_once_by_all_threads(spark: SparkSession) -> None:
    text = "public class Once {}"
    together = Barrier(4)

    def compile_it() -> JavaObject:
        together.wait()
        return compiled(spark, text)

    with ThreadPoolExecutor(4) as pool:
        loaders = [pool.submit(compile_it) for _ in range(4)]
    assert len({id(loader.result()) for loader in loaders}) == 1


def test_a_text_may_name_the_classes_of_another(spark: SparkSession) -> None:
    below = "public class Below { public static int seven() { return 7; } }"
    above = "public class Above { public static int eight() { return Below.seven() + 1; } }"
    found = compiled(spark, above, below).loadClass("Above").getMethods()
    (eight,) = [method for method in found if method.getName() == "eight"]
    assert eight.invoke(None, None) == 8
    assert compiled(spark, above, below).getParent().equals(compiled(spark, below))
