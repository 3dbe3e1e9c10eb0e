"""Conditions on generated partition columns that follow from conditions on other columns.

If ``day`` is generated as ``CAST(ts AS DATE)``, then ``ts >= '2024-05-06 07:00'`` requires
``day >= '2024-05-06'``. Rows that Hive wrote may lack the value of the partition column, so each
derived condition also accepts NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from acidsql import bridge
from acidsql.metastore.model import Table
from acidsql.schema.columns import partition_schema, schema_of
from acidsql.session.acid_session import AcidSession


class Order(StrEnum):
    """Order of the results of a function.

    A function keeps the order if the greater of two values never has the smaller result. Otherwise
    the order is lost, and it is only known that equal values have equal results.
    """

    KEPT = "kept"
    LOST = "lost"


# Effects of Catalyst functions on the order of their argument. The result of these functions does
# not depend on the session's time zone. The name of a cast includes its source and target types.
_ORDERS: Mapping[str, Order] = {
    "Cast TIMESTAMP DATE": Order.KEPT,
    "Cast TIMESTAMP_NTZ DATE": Order.KEPT,
    "Cast DATE TIMESTAMP": Order.KEPT,
    "TruncTimestamp": Order.KEPT,
    "TruncDate": Order.KEPT,
    "Year": Order.KEPT,
    "Quarter": Order.LOST,
    "Month": Order.LOST,
    "DayOfMonth": Order.LOST,
    "DayOfWeek": Order.LOST,
    "DayOfYear": Order.LOST,
    "Hour": Order.LOST,
    "DateFormatClass": Order.LOST,
    "Substring from 1": Order.KEPT,
    "Left": Order.KEPT,
}
# Comparison of two values, and the comparison that follows for the results of a function that
# keeps the order.
_COMPARED = {"=": "=", "<": "<=", "<=": "<=", ">": ">=", ">=": ">="}


def order_of(functions: Sequence[str]) -> Order | None:
    """Return whether nested functions, the outermost first, keep the order of a value.

    Returns:
        None if one of the functions is not known.

    >>> order_of(["Year", "Cast TIMESTAMP DATE"]).value, order_of(["Month", "Year"]).value
    ('kept', 'lost')
    """
    orders = [_ORDERS.get(function) for function in functions]
    if None in orders:
        return None
    return Order.LOST if Order.LOST in orders else Order.KEPT


def comparison_of_results(operator: str, order: Order) -> str | None:
    """Return the comparison of function results that follows from a comparison of the values.

    >>> comparison_of_results("<", Order.KEPT), comparison_of_results("<", Order.LOST)
    ('<=', None)
    """
    compared = _COMPARED.get(operator)
    return compared if order is Order.KEPT or compared == "=" else None


def with_generated_conditions(
    session: AcidSession, table: Table, copies: Sequence[Sequence[bridge.Conjunct]]
) -> list[tuple[bridge.Conjunct, ...]]:
    """Add the derived conditions on generated partition columns to the conjuncts of each copy."""
    generated = [column for column in table.partition_columns if column.generated is not None]
    if not generated:
        return [tuple(copy) for copy in copies]
    spark = session.spark
    everything = schema_of(spark, (*table.columns, *table.partition_columns))
    parts = partition_schema(spark, table)
    values = {}
    for column in generated:
        kind = bridge.type_sql(spark, parts[column.name].dataType)
        value = bridge.row_value(spark, everything, f"CAST(({column.generated}) AS {kind})")
        order = order_of(bridge.functions_of_column(value) or ("",))
        if len(value.columns) == 1 and order is not None:
            values[column.name] = value, order
    extended = []
    for copy in copies:
        attributes = bridge.partition_attributes(spark, parts, copy)
        derived = []
        for conjunct in copy:
            compared = bridge.compared_column(conjunct)
            for name, (value, order) in values.items():
                if compared is None or compared.column != value.columns[0]:
                    continue
                operator = comparison_of_results(compared.operator, order)
                if operator is not None:
                    derived.append(
                        bridge.result_condition(value, compared, operator, attributes[name])
                    )
        extended.append((*copy, *derived))
    return extended
