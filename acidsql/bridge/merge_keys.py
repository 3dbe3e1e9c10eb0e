"""What the rows of a MERGE's source say of the rows of its target that they can match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from acidsql.bridge.filters import coarse, rebound
from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    alias,
    copy_node,
    elements,
    jvm_class,
    scala_map,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.plans import frame_of, logical_plan
from acidsql.bridge.row_level import MergePlan
from acidsql.bridge.rows import arrow_table

# More values than these are told by the lowest and the highest.
_MOST_VALUES = 1000
_EXPRESSIONS = f"{CATALYST}.expressions"


def _text(value: str) -> str:
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


# SQL of values of the types that ORC and Spark compare alike.
_LITERALS: dict[str, Callable[[object], str]] = {
    "TINYINT": "{}Y".format,
    "SMALLINT": "{}S".format,
    "INT": "{}".format,
    "BIGINT": "{}L".format,
    "DATE": "date_from_unix_date({})".format,
    "STRING": lambda value: _text(str(value)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A condition that all rows of a target meet which match any row of the source.

    Attributes:
        columns: Java attributes of the target.
        value: Java expression over them.
        condition: SQL, in which the value is ``k``.
        coarse: the condition is a range. Of scattered keys it holds of all rows.
    """

    columns: JavaObject
    value: JavaObject
    condition: str
    coarse: bool


def source_keys(spark: SparkSession, pieces: MergePlan, source: DataFrame) -> list[Key]:
    """What the rows of a source that the driver holds say of its matches.

    Args:
        source: has the attributes of the source in ``pieces``.
    """
    pairs = list(_equal(pieces))
    if not pairs:
        return []
    named = [alias(spark, theirs, f"k{i}") for i, (_, theirs) in enumerate(pairs)]
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    found = arrow_table(frame_of(spark, project(scala_seq(spark, named), logical_plan(source))))
    columns = pieces.target.output()
    keys = []
    for values, (ours, _) in zip(found.columns, pairs, strict=True):
        condition, is_range = _condition(values, str(ours.dataType().sql()))
        if condition is not None:
            keys.append(Key(columns=columns, value=ours, condition=condition, coarse=is_range))
    return keys


def narrowed(spark: SparkSession, joined: JavaObject, keys: Sequence[Key]) -> JavaObject:
    """An analysed join of target and source, with conditions on the target.

    Args:
        joined: of a target with the same columns as the one that the keys are about.
    """
    if not keys or simple_name(joined) != "Join":
        return joined
    parser = session_state(spark).sqlParser()
    place = parser.parseExpression("k")
    conditions = []
    for key in keys:
        value = rebound(spark, key.value, key.columns, joined.left().output())
        parsed = parser.parseExpression(key.condition)
        condition = parsed.transform(scala_map(spark, [(place, value)]))
        conditions.append(coarse(spark, condition) if key.coarse else condition)
    both = jvm_class(spark, f"{_EXPRESSIONS}.And")
    kept = jvm_class(spark, f"{CATALYST}.plans.logical.Filter")
    return copy_node(spark, joined, {0: kept(reduce(both, conditions), joined.left())})


def _equal(pieces: MergePlan) -> Iterator[tuple[JavaObject, JavaObject]]:
    """Values of the target and of the source that are equal where rows match."""
    target, source = pieces.target.outputSet(), pieces.source.outputSet()
    for condition in _conjuncts(pieces.condition):
        if simple_name(condition) != "EqualTo" or not condition.deterministic():
            continue
        left, right = condition.left(), condition.right()
        for ours, theirs in ((left, right), (right, left)):
            is_ours = ours.references().nonEmpty() and ours.references().subsetOf(target)
            if is_ours and theirs.references().subsetOf(source) and _is_plain(ours):
                yield ours, theirs


def _is_plain(value: JavaObject) -> bool:
    """Whether equal values are the same one: not floating-point numbers, instants or padded
    texts.
    """
    kind = str(value.dataType().sql())
    columns = elements(value.references().toSeq())
    padded = any(a.metadata().contains("__CHAR_VARCHAR_TYPE_STRING") for a in columns)
    return (kind in _LITERALS or kind.startswith("DECIMAL")) and not padded


def _conjuncts(condition: JavaObject) -> Iterator[JavaObject]:
    if simple_name(condition) == "And":
        yield from _conjuncts(condition.left())
        yield from _conjuncts(condition.right())
    else:
        yield condition


def _condition(values: pa.ChunkedArray, kind: str) -> tuple[str | None, bool]:
    """A condition on ``k`` that all of some values meet, None if there are none; and whether it is
    a range.
    """
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())  # days: Python's dates end sooner than Spark's
    known = pc.unique(values.drop_null())
    literal = _LITERALS.get(kind, f"CAST('{{}}' AS {kind})".format)
    if len(known) == 0:
        return None, False
    if len(known) <= _MOST_VALUES:
        return f"k IN ({', '.join(map(literal, known.to_pylist()))})", False
    ends = pc.min_max(known).as_py()
    return f"k >= {literal(ends['min'])} AND k <= {literal(ends['max'])}", True
