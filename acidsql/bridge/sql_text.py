"""Functions that parse SQL text with Spark's parser, or write types, columns and values as SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.types import DataType, StructType

from acidsql.bridge.instants import (
    fields_with_instants,
    instants_in,
    timestamps_of,
    with_instants,
)
from acidsql.bridge.jvm import (
    CATALYST,
    LogicalPlan,
    column,
    defined,
    elements,
    expression_of,
    java_strings,
    jvm_class,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.errors import AcidAnalysisError, AcidParseError, condition_of
from acidsql.format.timestamp_types import INSTANT, TIMESTAMP, timestamps_in, with_timestamps
from acidsql.syntax.lexer import replaced_words
from acidsql.syntax.literals import string_value
from acidsql.syntax.places import place_of
from acidsql.syntax.values import literal, unsupported_value


def substitute_variables(spark: SparkSession, text: str) -> str:
    """Replace ``${…}`` in a text by configuration values, as Spark does before it parses."""
    if "${" not in text:
        return text
    return str(
        jvm_class(spark, "org.apache.spark.sql.internal.VariableSubstitution")().substitute(text)
    )


def parse(spark: SparkSession, text: str) -> LogicalPlan:
    """Parse a statement and return its unresolved plan.

    Raises:
        AcidAnalysisError: FAILED_TO_PARSE_TOO_COMPLEX, the statement is nested too deeply for
            Spark's parser.
        ParseException: the text is not a statement.
    """
    try:
        return session_state(spark).sqlParser().parsePlan(text)
    except Py4JJavaError as error:
        if simple_name(error.java_exception) != "StackOverflowError":
            raise
    raise AcidAnalysisError(
        "FAILED_TO_PARSE_TOO_COMPLEX",
        "the statement is nested too deeply for Spark's parser: divide it into several ones",
    )


def sort_order(spark: SparkSession, text: str) -> list[Column]:
    """Parse the list after ORDER BY, and return its columns, each with its direction.

    Raises:
        AcidAnalysisError: FAILED_TO_PARSE_TOO_COMPLEX; INVALID_SORT_ORDER, the text continues after
            the list.
        ParseException: the text is not a list of expressions.
    """
    plan = parse(spark, f"SELECT * FROM rows SORT BY {text}")
    if simple_name(plan) != "Sort":
        raise AcidAnalysisError(
            "INVALID_SORT_ORDER", f"{text!r} is more than a list of columns: leave the rest out"
        )
    return [column(spark, each) for each in elements(plan.order())]


def parse_name(spark: SparkSession, text: str) -> tuple[str, ...]:
    """Parse a multi-part identifier and return its parts."""
    return tuple(elements(session_state(spark).sqlParser().parseMultipartIdentifier(text)))


@cached_per_session(1024)
def parse_type(spark: SparkSession, text: str) -> DataType:
    """Parse the SQL text of a type; char and varchar retain their lengths.

    TIMESTAMP is always the type of an instant, regardless of ``spark.sql.timestampType``.
    """
    words = (INSTANT if word == TIMESTAMP else word for word in timestamps_in(text))
    parsed = session_state(spark).sqlParser().parseDataType(with_timestamps(text, words))
    return StructType.fromJson(
        {
            "type": "struct",
            "fields": [
                {"name": "c", "type": json.loads(parsed.json()), "nullable": True, "metadata": {}}
            ],
        }
    )["c"].dataType


def parse_stored_type(spark: SparkSession, text: str) -> DataType:
    """Parse a type like ``parse_type``; TIMESTAMP_LTZ becomes an ``InstantType``."""
    parsed = parse_type(spark, text)
    words = timestamps_in(text)
    if INSTANT not in words:
        return parsed
    return with_instants(parsed, iter([word == INSTANT for word in words]))


def type_sql(spark: SparkSession, data_type: DataType) -> str:
    """Return the SQL text of a type; an ``InstantType`` becomes TIMESTAMP_LTZ."""
    text = _type_sql(spark, data_type.json())
    instants = instants_in(data_type)
    if not any(instants):
        return text
    pairs = zip(timestamps_in(text), instants, strict=True)
    return with_timestamps(text, [(INSTANT if known else word).upper() for word, known in pairs])


@cached_per_session(1024)
def _type_sql(spark: SparkSession, json_text: str) -> str:
    return str(jvm_class(spark, "org.apache.spark.sql.types.DataType").fromJson(json_text).sql())


def parse_part(spark: SparkSession, before: str, text: str, after: str) -> LogicalPlan:
    """Parse a part of a statement within a complete statement; errors quote only the part.

    Args:
        spark: the session.
        before: text before the part.
        text: text of the part.
        after: text after the part.

    Raises:
        AcidParseError: the part is malformed.
        AcidAnalysisError: UNSUPPORTED_DATATYPE, the part names a type that Spark does not have.
    """
    try:
        return parse(spark, before + text + after)
    except ParseException as error:
        condition = condition_of(error)
        if condition not in ("PARSE_SYNTAX_ERROR", "UNSUPPORTED_DATATYPE"):
            raise
        sentence, _, _ = str(error).strip().partition("\n")
        place = _PLACE.search(sentence)
        position = 0
        if place is not None:
            lines = (before + text).splitlines(keepends=True)
            line, column_number = int(place["line"]), int(place["column"])
            position = sum(map(len, lines[: line - 1])) + column_number - len(before)
        position = min(max(position, 0), len(text))
        message = _PLACE.sub("", _SQLSTATE.sub("", sentence.partition("] ")[2] or sentence))
        if condition == "UNSUPPORTED_DATATYPE":
            raise AcidAnalysisError(
                condition, f"{message} in {text!r}: name a type of Spark, such as INT or STRING"
            ) from None
        raise AcidParseError(message, **place_of(text, position, "")) from None


_PLACE = re.compile(r" \(line (?P<line>\d+), pos (?P<column>\d+)\)")
_SQLSTATE = re.compile(r"\.? SQLSTATE: \w+")


def transforms(spark: SparkSession, text: str) -> tuple[str, ...]:
    """Return the transforms in the parentheses of PARTITIONED BY, such as ``days(ts)``.

    Plain columns are omitted.
    """
    try:
        plan = parse(spark, f"CREATE TABLE t (c INT) USING orc PARTITIONED BY ({text})")
    except ParseException:
        return ()
    partitioning = elements(plan.partitioning())
    return tuple(str(each.toString()) for each in partitioning if str(each.name()) != "identity")


def with_given_instants(
    text: str, schema: StructType, parse_again: Callable[[str], StructType]
) -> StructType:
    """Return the columns of a text, with ``InstantType`` for each TIMESTAMP_LTZ.

    Spark's parser returns the same type for TIMESTAMP_LTZ and TIMESTAMP. The text is therefore
    parsed again, with TIMESTAMP_NTZ in place of TIMESTAMP_LTZ.
    """
    other = replaced_words(text, _INSTANT_WORD, "TIMESTAMP_NTZ")
    if other == text:
        return schema
    pairs = zip(timestamps_of(schema), timestamps_of(parse_again(other)), strict=True)
    return fields_with_instants(schema, iter([one != two for one, two in pairs]))


def with_short_names(text: str) -> str:
    """Replace TIMESTAMP WITH LOCAL TIME ZONE by TIMESTAMP_LTZ.

    Older releases of Spark do not parse the long name. The text after it keeps its position.
    """
    return replaced_words(text, _LONG_INSTANT, "TIMESTAMP_LTZ")


_INSTANT_WORD = re.compile(r"\bTIMESTAMP_LTZ\b", re.IGNORECASE)
_LONG_INSTANT = re.compile(r"\bTIMESTAMP\s+WITH\s+LOCAL\s+TIME\s+ZONE\b", re.IGNORECASE)


def parse_names(spark: SparkSession, text: str) -> tuple[str, ...] | None:
    """Parse a list of column names; return None if the text contains anything else."""
    try:
        return tuple(name for name, _ in parse_view_columns(spark, text))
    except ParseException:
        return None


def parse_view_columns(spark: SparkSession, text: str) -> tuple[tuple[str, str | None], ...]:
    """Parse the columns of a view; return the name of each, and its comment or None.

    Raises:
        ParseException: the text contains anything else.
    """
    plan = parse(spark, f"CREATE TEMPORARY VIEW v ({text}) AS SELECT 1")
    columns = [(c._1(), c._2()) for c in elements(plan.userSpecifiedColumns())]
    return tuple((str(name), next(map(str, defined(comment)), None)) for name, comment in columns)


def literal_sql(spark: SparkSession, value: object) -> str:
    """Return the SQL text of a Python value as a literal of Spark's type for it.

    Raises:
        AcidAnalysisError: the errors of ``values.literal``; a column cannot be written as text
            (UNSUPPORTED_FEATURE.COLUMN_WITHOUT_TEXT).
    """
    return literal(value, partial(_other_literal, spark))


def _other_literal(spark: SparkSession, value: object) -> str:
    """Write a Column, or a value for which this release of Spark may have a literal."""
    if isinstance(value, Column):
        return f"({column_sql(spark, value)})"
    try:
        return verbatim(str(expression_of(spark, lit(value)).sql()))
    except _NO_LITERAL as error:
        raise unsupported_value(value) from error


def column_sql(spark: SparkSession, value: Column) -> str:
    """Return the SQL text of a column.

    Raises:
        AcidAnalysisError: the column contains a Python or lambda function
            (UNSUPPORTED_FEATURE.COLUMN_WITHOUT_TEXT).
    """
    expression = expression_of(spark, value)
    patterns = jvm_class(spark, f"{CATALYST}.trees.TreePattern")
    for what, pattern in {
        "a Python function": patterns.PYTHON_UDF(),
        "a lambda function": patterns.LAMBDA_FUNCTION(),
    }.items():
        if expression.containsPattern(pattern):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.COLUMN_WITHOUT_TEXT",
                f"{what} cannot be part of a Column here: give the expression as SQL text; "
                "spark.udf.register names Python functions",
            )
    return verbatim(str(expression.sql()).replace(_NO_FRAME, ""))


# Spark's text for the frame of a window without a frame, which its parser rejects.
_NO_FRAME = "unspecifiedframe$()"
# Exceptions of PySpark and py4j for an object that has no counterpart in the JVM.
_NO_LITERAL = (AttributeError, Py4JError, PySparkException, TypeError, ValueError)
_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'|`(?:[^`]|``)*`", re.DOTALL)


def verbatim(text: str) -> str:
    """Rewrite the strings in SQL text of Spark so that their values do not depend on settings.

    Spark writes strings with backslash escapes. ``string_value`` avoids them.
    """
    return _STRING.sub(_plain_string, text)


def _plain_string(quoted: re.Match[str]) -> str:
    content = quoted[1]
    if content is None:  # a quoted name
        return quoted[0]
    return string_value(re.sub(r"\\(.)", r"\1", content, flags=re.DOTALL))


def select(frame: DataFrame, *expressions: str) -> DataFrame:
    """Project a DataFrame to any number of SQL expressions, with two calls into the JVM."""
    spark = frame.sparkSession
    return DataFrame(frame._jdf.selectExpr(java_strings(spark, expressions)), spark)


def renamed(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Rename all columns of a DataFrame."""
    spark = frame.sparkSession
    return DataFrame(frame._jdf.toDF(java_strings(spark, names)), spark)


def check_expression(spark: SparkSession, text: str) -> None:
    """Parse a text as one expression.

    Raises:
        ParseException: the text is not an expression.
    """
    session_state(spark).sqlParser().parseExpression(text)


def alias_of(frame: DataFrame) -> str | None:
    """Return the alias that a DataFrame was given, or None."""
    plan = frame._jdf.queryExecution().logical()
    return str(plan.alias()) if simple_name(plan) == "SubqueryAlias" else None


def explain(spark: SparkSession, plan: LogicalPlan, mode: str) -> str:
    """Return the text of EXPLAIN for a plan, without running it, even if it is a command.

    Args:
        spark: the session.
        plan: the plan, analysed or not.
        mode: ``simple``, ``extended``, ``codegen``, ``cost`` or ``formatted``.

    Raises:
        AnalysisException: the plan is invalid.
    """
    execution_package = "org.apache.spark.sql.execution"
    skip = jvm_class(spark, f"{execution_package}.CommandExecutionMode").SKIP()
    execution = session_state(spark).executePlan(plan, skip)
    execution.assertAnalyzed()
    explain_mode = jvm_class(spark, f"{execution_package}.ExplainMode").fromString(mode)
    return str(execution.explainString(explain_mode))
