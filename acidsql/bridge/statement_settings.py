"""Spark settings that apply to one statement, and redaction by a setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import JavaObject, jvm_class, scala_object, session_state

# The first setting is per session. It falls back to the second, which is per application.
_SETTINGS = ("spark.sql.redaction.string.regex", "spark.redaction.string.regex")
# Utils.REDACTION_REPLACEMENT_TEXT
REDACTED = "*********(redacted)"

_SQL_CONF = "org.apache.spark.sql.internal.SQLConf"


@contextmanager
def statement_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change the settings by which Spark parses and analyses in the block, only in this thread.

    Expressions keep the settings under which they were made. A DataFrame that was analysed in the
    block thus has the same meaning when it runs later. Spark treats the text of a view in the same
    way, with the settings under which the view was created.
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
    """Return the thread-local that Spark's ``withExistingConf`` sets for a Scala function."""
    gateway = spark.sparkContext._gateway
    owner = scala_object(spark, _SQL_CONF)
    no_types = gateway.new_array(jvm_class(spark, "java.lang.Class"), 0)
    no_values = gateway.new_array(jvm_class(spark, "java.lang.Object"), 0)
    method = owner.getClass().getDeclaredMethod("existingConf", no_types)
    method.setAccessible(True)
    return method.invoke(owner, no_values)


def redacted(spark: SparkSession, text: str) -> str:
    """Redact the matches of ``spark.sql.redaction.string.regex`` in a text.

    Spark's ``redact`` does the same. The setting is a Java regular expression, which Spark compiled
    when it was set.
    """
    patterns = (spark.conf.get(key, None) for key in _SETTINGS)
    pattern = next(filter(None, patterns), None)
    if not pattern:
        return text
    matcher = jvm_class(spark, "java.util.regex.Pattern").compile(pattern).matcher(text)
    return str(matcher.replaceAll(REDACTED))
