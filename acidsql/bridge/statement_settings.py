"""Settings of Spark for one statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import JavaObject, jvm_class, scala_object, session_state

# The first is a setting of the session, and falls back to the other, one of the application.
_SETTINGS = ("spark.sql.redaction.string.regex", "spark.redaction.string.regex")
# Utils.REDACTION_REPLACEMENT_TEXT
REDACTED = "*********(redacted)"

_SQL_CONF = "org.apache.spark.sql.internal.SQLConf"


@contextmanager
def statement_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Have Spark parse and analyse by other settings in the block, only in this thread.

    Expressions keep what they were made by, so that a DataFrame that was analysed in the block
    means the same when it runs later. This is how Spark treats the text of a view, by the settings
    that it was created under.
    """
    if not settings:
        yield
        return
    changed = session_state(spark).conf().clone()
    for key, value in settings.items():
        changed.setConfString(key, value)
    local = _thread_settings(spark)
    before = local.get()
    local.set(changed)
    try:
        yield
    finally:
        if before is None:
            local.remove()
        else:
            local.set(before)


def _thread_settings(spark: SparkSession) -> JavaObject:
    """Return what Spark's ``withExistingConf`` sets, which only takes a Scala function."""
    gateway = spark.sparkContext._gateway
    owner = scala_object(spark, _SQL_CONF)
    no_types = gateway.new_array(jvm_class(spark, "java.lang.Class"), 0)
    no_values = gateway.new_array(jvm_class(spark, "java.lang.Object"), 0)
    method = owner.getClass().getDeclaredMethod("existingConf", no_types)
    method.setAccessible(True)
    return method.invoke(owner, no_values)


def redacted(spark: SparkSession, text: str) -> str:
    """Replace what matches ``spark.sql.redaction.string.regex`` in a text, as Spark's
    ``redact`` does.

    The expression is one of Java's, which Spark has compiled when it was set.
    """
    found = (spark.conf.get(key, None) for key in _SETTINGS)
    pattern = next(filter(None, found), None)
    if not pattern:
        return text
    matcher = jvm_class(spark, "java.util.regex.Pattern").compile(pattern).matcher(text)
    return str(matcher.replaceAll(REDACTED))
