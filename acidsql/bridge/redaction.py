"""Redaction of secrets in texts, as Spark does it in the texts of its plans."""

from __future__ import annotations

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import jvm_class

# The first is a setting of the session, and falls back to the other, one of the application.
_SETTINGS = ("spark.sql.redaction.string.regex", "spark.redaction.string.regex")
# Utils.REDACTION_REPLACEMENT_TEXT
REDACTED = "*********(redacted)"


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
