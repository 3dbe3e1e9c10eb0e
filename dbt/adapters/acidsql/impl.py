"""The adapter, which answers dbt's requests to a database by statements."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.impl import SCHEMA_NOT_FOUND_MESSAGES, SparkAdapter, SparkConfig
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.exceptions import DbtRuntimeError

from acidsql.format.identifiers import folded, lowered
from acidsql.syntax.described import Described, described
from dbt.adapters.acidsql.connections import AcidSqlConnectionManager
from dbt.adapters.acidsql.contracts import (
    constraint_sql,
    contract_of,
    has_rules,
    not_null_columns,
    with_names,
)

# Suffix of the name of a directory that CREATE OR REPLACE TABLE has created.
_REPLACEMENT = re.compile(r"_acidsql_\d+$")


@dataclass
class AcidSqlConfig(SparkConfig):
    """Configuration of a model.

    Attributes:
        file_format: file format of the table.
        transactional: whether the table is an ACID table; if not, dbt-spark's macros create it.
    """

    file_format: str = "orc"
    transactional: bool = True


@dataclass
class AcidSqlColumn(SparkColumn):
    """Column with its comment and its table's comment, for the catalog."""

    column_comment: str | None = None
    table_comment: str | None = None


class _Views(threading.local):
    """Temporary views of the model that this thread runs."""

    def __init__(self) -> None:
        self.dropped: list[BaseRelation] = []


class AcidSqlAdapter(SparkAdapter):
    """dbt-spark's adapter, for tables of acidsql."""

    Column = AcidSqlColumn
    ConnectionManager = AcidSqlConnectionManager
    AdapterSpecificConfigs = AcidSqlConfig
    _views = _Views()
    CONSTRAINT_SUPPORT = {  # noqa: RUF012 - as the base class has it
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.primary_key: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_ENFORCED,
    }

    def valid_incremental_strategies(self) -> list[str]:
        """Return the strategies that have macros."""
        return ["append", "merge", "delete+insert", "insert_overwrite", "microbatch"]

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """Return the tables and views of a schema in Spark and in acidsql's metastore.

        The list is empty if the schema does not exist.
        """
        schema = schema_relation.schema
        try:
            tables = self._shown("tables", "tableName", schema)
            views = set(self._shown("views", "viewName", schema))
        except DbtRuntimeError as error:
            if any(message in error.msg for message in SCHEMA_NOT_FOUND_MESSAGES):
                return []
            raise
        return [
            self.Relation.create(
                schema=schema,
                identifier=name,
                type=RelationType.View if name in views else RelationType.Table,
            )
            for name in tables
        ]

    def _shown(self, what: str, column: str, schema: str) -> list[str]:
        """Return the names that SHOW TABLES or SHOW VIEWS lists, without temporary views."""
        rows = self.execute_macro("acidsql_show", kwargs={"what": what, "schema": schema})
        return [row[column] for row in rows if not row["isTemporary"]]

    def parse_describe_extended(
        self, relation: BaseRelation, raw_rows: Iterable[Any]
    ) -> list[AcidSqlColumn]:
        """Return the columns in the rows of DESCRIBE EXTENDED, with the details of the table.

        The columns end at the first row without a type, which is a heading.
        """
        rows = [(row["col_name"], row["data_type"], row["comment"]) for row in raw_rows]
        end = next((i for i, (_, dtype, _) in enumerate(rows) if not dtype), len(rows))
        details = {name: value for name, value, _ in rows[end:] if name}
        statistics = SparkColumn.convert_table_stats(details.get("Statistics"))
        return [
            AcidSqlColumn(
                table_database=None,
                table_schema=relation.schema,
                table_name=relation.name,
                table_type=relation.type,
                table_owner=details.get("Owner"),
                table_stats=statistics,
                table_comment=details.get("Comment"),
                column=name,
                column_index=index,
                column_comment=comment,
                dtype=dtype,
            )
            for index, (name, dtype, comment) in enumerate(rows[:end])
        ]

    @available
    def named_alike(
        self, columns: Sequence[AcidSqlColumn], known: Sequence[AcidSqlColumn]
    ) -> list[AcidSqlColumn]:
        """Rename columns to a table's spelling of their names, which may differ in case."""
        names = {folded(column.name): column.name for column in known}
        return [
            # mypy does not see dbt, whose Column has the field.
            replace(column, column=names.get(folded(column.name), column.name))  # type: ignore[call-arg]
            for column in columns
        ]

    @available
    def contract_constraints(self, model: Mapping[str, Any]) -> list[str]:
        """Return the constraints of a contract as SQL for ALTER TABLE … ADD, without NOT NULL.

        In an embedded metastore, all these constraints get names.
        """
        texts = [sql for each in contract_of(model) if (sql := constraint_sql(each)) is not None]
        # In Hive 3.1, names are unique, and the table that is replaced still uses them.
        return texts if self._has_server() else with_names(texts, lowered(model["alias"]))

    @available
    def contract_not_null(self, model: Mapping[str, Any]) -> list[str]:
        """Return the NOT NULL columns of a contract."""
        return list(not_null_columns(contract_of(model)))

    @available
    def can_overwrite(
        self,
        relation: BaseRelation,
        staged: BaseRelation,
        properties: Mapping[str, str],
        constraints: Sequence[str],
        not_null: Sequence[str],
    ) -> bool:
        """Return whether INSERT OVERWRITE can write the rows of a query to a table.

        The table must have the query's columns in the same case, these properties and constraints,
        and neither partitions nor buckets.

        Args:
            relation: the table.
            staged: a view of the query.
            properties: table properties of the model.
            constraints: constraints of the contract, as SQL. Without a contract, the table can have
                any constraints.
            not_null: NOT NULL columns of the contract.
        """
        table = self._described(relation)
        if table.is_partitioned or "Num Buckets" in table.details:
            return False
        shown = self.execute_macro("fetch_tbl_properties", kwargs={"relation": relation})
        present = {row["key"]: row["value"] for row in shown}
        if any(present.get(key) != str(value) for key, value in properties.items()):
            return False
        if (constraints or not_null) and not has_rules(table, constraints, not_null):
            return False
        columns = self.get_columns_in_relation(relation)
        return _signature(columns) == _signature(self.get_columns_in_relation(staged))

    @available
    def can_replace(self, relation: BaseRelation, location: str | None) -> bool:
        """Return whether CREATE OR REPLACE TABLE can change the columns of a table.

        The table must be an ACID table of an embedded metastore, in the directory of the model.

        Args:
            relation: the table.
            location: directory of the model's table; None for the table's current directory.
        """
        shown = self.execute_macro("fetch_tbl_properties", kwargs={"relation": relation})
        present = {row["key"]: row["value"] for row in shown}
        if present.get("transactional", "").lower() != "true":
            return False
        if self._has_server():
            return False
        if location is None:
            return True
        return _is_place(self._described(relation).details.get("Location", ""), location)

    def _has_server(self) -> bool:
        """Return whether the metastore is Hive's."""
        _, answer = self.execute("set spark.acidsql.metastore", fetch=True)
        return str(answer.rows[0]["value"]).startswith("thrift://")

    @available
    def drop_after_model(self, view: BaseRelation) -> None:
        """Register a temporary view to be dropped when the model of this thread ends or fails."""
        self._views.dropped.append(view)

    def pre_model_hook(self, config: Mapping[str, Any]) -> None:
        """Forget the views of earlier models in this thread."""
        self._views.dropped = []
        super().pre_model_hook(config)

    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        """Drop the temporary views of a model, whether the model succeeded or failed."""
        views, self._views.dropped = self._views.dropped, []
        for view in views:
            self.execute(f"drop view if exists {view}", auto_begin=False)
        super().post_model_hook(config, context)

    def _described(self, relation: BaseRelation) -> Described:
        rows = self.execute_macro("get_columns_in_relation_raw", kwargs={"relation": relation})
        return described((row["col_name"], row["data_type"], row["comment"]) for row in rows)

    @classmethod
    def _get_adapter_specific_run_info(cls, config: Any) -> dict[str, Any]:
        del config
        return {"adapter_type": "acidsql", "table_format": "hive"}


def _signature(columns: Sequence[AcidSqlColumn]) -> list[tuple[str, str]]:
    return [(column.name, column.dtype) for column in columns]


def _is_place(location: str, wanted: str) -> bool:
    """Return whether a table's directory is the one that a model names, or its replacement."""
    return _path(_REPLACEMENT.sub("", location)) == _path(wanted)


def _path(location: str) -> str:
    return re.sub("^file:/+", "/", location).rstrip("/")
