"""Conditions on generated partition columns that follow from conditions on other columns.

``ts >= '2024-05-06 07:00'`` requires ``day >= '2024-05-06'`` where ``day`` is generated as
``CAST(ts AS DATE)``. Rows that Hive wrote may lack the value of the partition column, so NULL
always counts.
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

    It is kept if the greater of two values never has the smaller result. Else it is lost, and only
    equal values have equal results.
    """

    KEPT = "kept"
    LOST = "lost"


# Functions of Catalyst whose result does not depend on the time zone of a session, by what they do
# to the order of their argument. A cast is here with the types that it is from and to.
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
# Of a comparison, that of the results of a function that keeps the order.
_COMPARED = {"=": "=", "<": "<=", "<=": "<=", ">": ">=", ">=": ">="}


def order_of(functions: Sequence[str]) -> Order | None:
    """Return what functions, each of the result of the one behind it, keep of a value's order.

    Returns:
        None if one of them is not known.

    >>> order_of(["Year", "Cast TIMESTAMP DATE"]).value, order_of(["Month", "Year"]).value
    ('kept', 'lost')
    """
    orders = [_ORDERS.get(function) for function in functions]
    if None in orders:
        return None
    return Order.LOST if Order.LOST in orders else Order.KEPT


def comparison_of_results(operator: str, order: Order) -> str | None:
    """Return the comparison of two results that a comparison of the values requires.

    >>> comparison_of_results("<", Order.KEPT), comparison_of_results("<", Order.LOST)
    ('<=', None)
    """
    compared = _COMPARED.get(operator)
    return compared if order is Order.KEPT or compared == "=" else None


def with_generated_conditions(
    session: AcidSession, table: Table, copies: Sequence[Sequence[bridge.Conjunct]]
) -> list[tuple[bridge.Conjunct, ...]]:
    """Add to the conjuncts of each copy of a table those on its generated partition columns that
    follow from them.
    """
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
    found = []
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
        found.append((*copy, *derived))
    return found
