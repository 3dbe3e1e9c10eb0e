"""Random conditions and values, generated from a seed; none of them can fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

# Values of each type that rows have, or nearly have.
_LITERALS: Mapping[str, Sequence[str]] = {
    "int": ["-1", "0", "1", "2", "3", "5", "7", "11", "40", "1999", "2500"],
    "string": ["''", "'a'", "'A'", "'b'", "' a'", "'a '", "'ä'", "'zz'", "'10'"],
    "date": ["DATE'2023-12-31'", "DATE'2024-01-01'", "DATE'2024-01-03'", "DATE'2024-02-29'"],
    "decimal": ["-1.50", "0.00", "0.25", "1.00", "12.75", "99.99"],
    "double": ["-0.0D", "0.0D", "1.5D", "2.25D", "double('NaN')", "double('-Infinity')"],
    "timestamp": ["TIMESTAMP'2024-01-01 00:00:00'", "TIMESTAMP'2024-01-02 12:30:00.5'"],
    "boolean": ["true", "false"],
}
_COMPARED = ("=", "=", "<", "<=", ">", ">=", "<>", "<=>")
_MOST_DEPTH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Table for random statements.

    Attributes:
        name: name in statements.
        columns: types by name.
        partitions: names of columns that have one value in all rows of a partition.
        key: name of a column whose values are all different.
    """

    name: str
    columns: Mapping[str, str]
    partitions: Sequence[str] = ()
    key: str = "id"


@dataclass(frozen=True, slots=True)
class Scope:
    """Columns that expressions may name: types by qualified name."""

    columns: Mapping[str, str]

    @classmethod
    def of(cls, table: Table, alias: str) -> Scope:
        return cls({f"{alias}.{name}": kind for name, kind in table.columns.items()})

    def with_all_of(self, other: Scope) -> Scope:
        return Scope({**self.columns, **other.columns})

    def of_type(self, kind: str) -> list[str]:
        return [name for name, own in self.columns.items() if own == kind]


class Expressions:
    """Expressions over some tables, as a source of random numbers has them."""

    def __init__(self, random: Random, tables: Sequence[Table]) -> None:
        self._random = random
        self._tables = tables
        self._aliases = 0

    def _table(self) -> Table:
        return self._random.choice(self._tables)

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def _equality(self, own: Scope, other: Scope) -> str:
        kinds = sorted(set(own.columns.values()) & set(other.columns.values()) - {"boolean"})
        kind = self._random.choice(kinds)
        left = self._random.choice(own.of_type(kind))
        return f"{left} = {self._random.choice(other.of_type(kind))}"

    # Conditions

    def _condition(self, scope: Scope, *, subqueries: bool = False, depth: int = 0) -> str:
        chance = self._random.random()
        if depth < _MOST_DEPTH and chance < 0.35:
            word = self._random.choice(["AND", "AND", "OR"])
            parts = [
                self._condition(scope, subqueries=subqueries and word == "AND", depth=depth + 1)
                for _ in range(2)
            ]
            return f"({f' {word} '.join(parts)})"
        if depth < _MOST_DEPTH and chance < 0.42:
            return f"(NOT {self._condition(scope, depth=depth + 1)})"
        if subqueries and chance < 0.62:
            return self._with_subquery(scope)
        return self._simple(scope)

    def _simple(self, scope: Scope) -> str:
        name = self._random.choice(list(scope.columns))
        kind = scope.columns[name]
        literal, compared = self._literal(kind), self._random.choice(_COMPARED)
        values = ", ".join(self._literal(kind) for _ in range(self._random.randint(1, 3)))
        forms = [
            f"{name} {compared} {literal}",
            f"{literal} {compared} {name}",
            f"{name} BETWEEN {literal} AND {self._literal(kind)}",
            f"{name} IN ({values})",
            f"{name} NOT IN ({values})",
            f"{name} IS NULL",
            f"{name} IS NOT NULL",
            f"{self._value(kind, scope)} {compared} {self._value(kind, scope)}",
        ]
        if kind == "string":
            forms += [f"{name} LIKE '{p}'" for p in ("a%", "%", "_", "%a%")]
        if kind == "int":
            forms += [f"{name} % 5 = 2", f"{name} IN ({literal}, NULL)", f"{name} = 3.0"]
        if kind == "boolean":
            forms += [name, f"NOT {name}"]
        return f"({self._random.choice(forms)})"

    def _with_subquery(self, scope: Scope) -> str:
        table, alias = self._table(), self._alias()
        own = Scope.of(table, alias)
        kinds = sorted(set(scope.columns.values()) & set(own.columns.values()))
        kind = self._random.choice(kinds)
        name, inner = (
            self._random.choice(scope.of_type(kind)),
            self._random.choice(own.of_type(kind)),
        )
        source = f"FROM {table.name} AS {alias} WHERE {self._simple(own)}"
        function = self._random.choice(["max", "min"])
        compared = self._random.choice(["=", "<", ">=", "<=>"])
        return self._random.choice(
            [
                f"{name} IN (SELECT {inner} {source})",
                f"{name} NOT IN (SELECT {inner} {source})",
                f"EXISTS (SELECT 1 {source} AND {inner} = {name})",
                f"NOT EXISTS (SELECT 1 {source} AND {inner} = {name})",
                f"{name} {compared} (SELECT {function}({inner}) {source})",
                f"{name} BETWEEN (SELECT min({inner}) {source}) AND (SELECT max({inner}) {source})",
            ]
        )

    # Values

    def _literal(self, kind: str) -> str:
        return self._random.choice(_LITERALS[kind])

    def _value(self, kind: str, scope: Scope) -> str:
        names = scope.of_type(kind)
        if not names or self._random.random() < 0.2:
            return self._literal(kind)
        name = self._random.choice(names)
        forms = {
            "int": [f"{name} % 7", f"coalesce({name}, 0) % 100 + 1", f"abs({name} % 1000)"],
            "string": [f"upper({name})", f"substr({name}, 1, 2)", f"coalesce({name}, 'none')"],
            "date": [f"date_add({name}, 1)", f"coalesce({name}, DATE'2024-01-01')"],
            "decimal": [f"CAST({name} % 10 AS DECIMAL(7, 2))"],
            "boolean": [f"NOT {name}"],
        }
        return self._random.choice([name, name, *forms.get(kind, [])])
