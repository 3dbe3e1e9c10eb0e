"""Search arguments (SARGs): conditions that ORC compares with stripes, row groups and rows.

Spark would push conditions on fields of ``row`` under names that ORC does not know in ACID files.
They are given to ORC as options of a scan instead, under the names of the columns in the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.conditions import Conjunct, all_of, attributes_in
from acidsql.bridge.jvm import (
    CATALYST,
    SOURCES,
    JavaObject,
    column,
    elements,
    java_type,
    jvm_class,
    scala_map,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.spark_versions import differences

_FILTERS = "org.apache.spark.sql.sources"
_COMPARISONS = ("EqualTo", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual")
# Files may use the Julian calendar for days before this one, the first of the Gregorian calendar.
_FIRST_DAY = "1582-10-15"
# Value that ORC's reader leaves in place of NULL, as SQL, by type.
_LEFT_BY_NULL = {
    **{kind: f"CAST(1 AS {kind})" for kind in ("TINYINT", "SMALLINT", "INT", "BIGINT")},
    "BOOLEAN": "true",
    "DATE": "DATE'1970-01-02'",
}


def search_options(
    spark: SparkSession,
    conditions: Sequence[Sequence[Conjunct]],
    names: Mapping[str, str],
    schema: StructType,
) -> tuple[dict[str, str], list[list[Conjunct]]]:
    """Build the scan options that hand a search argument to ORC.

    Args:
        conditions: alternatives (OR), each a list of conjuncts (AND).
        names: names in the files of the columns that may be compared, by their names in conditions.
        schema: these columns, by their names in the files.

    Returns:
        The options, empty if ORC can apply nothing; and the conditions that the search argument
        has.
    """
    used = [[c for c in one if c.columns.keys() <= names.keys()] for one in conditions]
    filters = [[(c, _filter(spark, c, names)) for c in one] for one in used]
    chosen = [[(c, f) for c, f in one if f is not None and _is_exact(f)] for one in filters]
    if not chosen or not all(chosen):
        return {}, []
    both, either = (jvm_class(spark, f"{_FILTERS}.{name}") for name in ("And", "Or"))
    whole = reduce(either, [reduce(both, [f for _, f in one]) for one in chosen])
    argument = _argument(spark, schema, whole)
    if argument is None:
        return {}, []
    conf = jvm_class(spark, "org.apache.hadoop.conf.Configuration")(False)
    columns = spark.sparkContext._gateway.new_array(
        jvm_class(spark, "java.lang.String"), len(schema.fields)
    )
    for i, name in enumerate(schema.names):
        columns[i] = name
    jvm_class(spark, "org.apache.orc.mapred.OrcInputFormat").setSearchArgument(
        conf, argument, columns
    )
    options = {key: str(conf.get(key)) for key in ("orc.kryo.sarg", "orc.sarg.column.names")}
    return options, [[c for c, _ in one] for one in chosen]


def _filter(spark: SparkSession, conjunct: Conjunct, names: Mapping[str, str]) -> JavaObject | None:
    """Translate a conjunct to a ``sources.Filter``; None if Spark has none for it."""
    expression = conjunct.expression
    if any(names[n] != n for n in conjunct.columns):
        others = [(a, a.withName(names[n])) for n, a in attributes_in(expression).items()]
        expression = expression.transform(scala_map(spark, others))
    strategy = scala_object(spark, f"{SOURCES}.DataSourceStrategy")
    found = strategy.translateFilter(expression, False)
    return found.get() if found.isDefined() else None


def _argument(spark: SparkSession, schema: StructType, whole: JavaObject) -> JavaObject | None:
    filters = scala_object(spark, f"{SOURCES}.orc.OrcFilters")
    arguments = [java_type(spark, schema), scala_seq(spark, [whole])]
    if differences(spark).has_three_orc_filter_arguments:
        arguments.append(getattr(filters, "createFilter$default$3")())
    found = filters.createFilter(*arguments)
    return found.get() if found.isDefined() else None


def _is_exact(found: JavaObject) -> bool:
    """Return whether ORC applies a filter to rows exactly as Spark does.

    ORC fails on NULL in a list, and ignores NULL where a range comparison is negated.
    """
    kind = simple_name(found)
    if kind in ("And", "Or"):
        return _is_exact(found.left()) and _is_exact(found.right())
    if kind == "Not":
        return simple_name(found.child()) in ("EqualTo", "In") and _is_exact(found.child())
    if kind == "In":
        return all(map(_is_plain, found.values()))
    return kind in _COMPARISONS and _is_plain(found.value())


def _is_plain(value: object) -> bool:
    is_date = hasattr(value, "getClass") and simple_name(value) in ("Date", "LocalDate")
    return value is not None and (not is_date or str(value) > _FIRST_DAY)


def condition_of(
    spark: SparkSession, conditions: Sequence[Sequence[Conjunct]], values: Mapping[str, str]
) -> Column:
    """Build the condition that all conjuncts of at least one alternative hold.

    Args:
        conditions: alternatives (OR), each a list of conjuncts (AND).
        values: SQL that replaces each column, by its name in the conditions; Spark pushes no
            comparison with it into a scan.
    """
    parser = session_state(spark).sqlParser()
    no_pushdown = jvm_class(spark, f"{CATALYST}.expressions.KnownNullable")
    named = {name for one in conditions for c in one for name in c.columns}
    expressions = {name: no_pushdown(parser.parseExpression(values[name])) for name in named}
    whole = reduce(
        jvm_class(spark, f"{CATALYST}.expressions.Or"), [all_of(spark, one) for one in conditions]
    )
    places = [(a, expressions[a.name()]) for a in elements(whole.references().toSeq())]
    condition = whole.transform(scala_map(spark, places))
    # Next to a filter that implies one of the alternatives, Spark would drop this condition and
    # prune the columns of the others; ORC fails if a column that it compares is not read.
    return column(spark, no_pushdown(condition) if len(conditions) > 1 else condition)


def finds_rows(spark: SparkSession, conditions: Sequence[Sequence[Conjunct]]) -> bool:
    """Return whether the condition of ``condition_of`` is false for every row that ORC skipped.

    ORC's reader can leave wrong values in the compared columns: when it moves to another row group,
    or past skipped rows, ``StructBatchReader`` resets all of ``row`` but does not read these
    columns again. It then forgets which of their values are null, and that all strings of a batch
    are the same one. So NULL may read as 1, and a string as any string. The condition is safe only
    if each alternative has, for each column, conjuncts that are not true for the value in place of
    NULL. Decimals keep the value of another row, and strings may, so comparisons with them are
    never safe.

    Args:
        conditions: those of the search argument: comparisons with literals.
    """
    names = {name for one in conditions for c in one for name in c.columns}
    if any(len(c.columns) > 1 for one in conditions for c in one):
        return False
    return all(_rules_out(spark, one, name) for one in conditions for name in names)


def _rules_out(spark: SparkSession, conditions: Sequence[Conjunct], name: str) -> bool:
    """Return whether conjuncts exclude the value that ORC leaves in place of NULL in a column."""
    own = [c for c in conditions if name in c.columns]
    left = _LEFT_BY_NULL.get(own[0].columns[name]) if own else None
    if left is None:
        return False
    value = session_state(spark).sqlParser().parseExpression(left)
    whole = all_of(spark, own)
    places = [(a, value) for a in elements(whole.references().toSeq())]
    return whole.transform(scala_map(spark, places)).eval(None) is not True


def reads_in_batches(spark: SparkSession, columns: int) -> bool:
    """Return whether Spark's settings let it read nested ORC columns in batches, which is the
    default.

    Args:
        columns: number of columns and fields of the scan.
    """
    conf = session_state(spark).conf()
    return (
        bool(conf.orcVectorizedReaderEnabled())
        and bool(conf.orcVectorizedReaderNestedColumnEnabled())
        and bool(conf.wholeStageEnabled())
        and columns <= int(conf.wholeStageMaxNumFields())
    )
