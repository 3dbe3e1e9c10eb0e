"""Random queries and changes, generated from a seed.

Every result is the same whatever the order of the rows: nothing is chosen by an order that has
ties, and no floating-point number is summed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.product.random_expressions import Expressions, Scope, Table

_JOINS = ("", "", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")


class Statements(Expressions):
    """Statements over some tables, as a source of random numbers has them."""

    def __init__(self, random: Random, tables: Sequence[Table]) -> None:
        super().__init__(random, tables)
        self._inserts = 0

    def query(self) -> str:
        """Return a random SELECT."""
        kinds: list[Callable[[], str]] = [
            self._plain,
            self._grouped,
            self._counted,
            self._of_partitions,
            self._joined,
            self._with_table_expression,
            self._united,
            self._windowed,
            self._first_rows,
            self._rolled_up,
            self._star,
            self._with_value_of_row,
        ]
        return self._random.choice(kinds)()

    def insert(self, table: Table, source: Table) -> tuple[str, str]:
        """Return a random INSERT, and a query over the old tables of the rows after it."""
        scope = Scope.of(source, "y")
        columns = ", ".join(
            f"y.{source.key} + {self._offset()}" if name == table.key else self._value(kind, scope)
            for name, kind in table.columns.items()
        )
        condition = self._condition(scope, subqueries=True)
        rows = f"SELECT {columns} FROM {source.name} AS y WHERE {condition}"
        kept = f"SELECT {', '.join(table.columns)} FROM {table.name}"
        return f"INSERT INTO {table.name} {rows}", f"{kept} UNION ALL {rows}"

    def update(self, table: Table) -> tuple[str, str]:
        """Return a random UPDATE, and a query over the old table of the rows after it."""
        scope = Scope.of(table, "x")
        others = [name for name in table.columns if name != table.key]
        names = self._random.sample(others, self._random.randint(1, 2))
        values = {name: self._value(table.columns[name], scope) for name in names}
        condition = self._condition(scope, subqueries=True)
        set_clause = ", ".join(f"{name} = {value}" for name, value in values.items())
        changed = ", ".join(values.get(name, f"x.{name}") for name in table.columns)
        kept = ", ".join(f"x.{name}" for name in table.columns)
        return (
            f"UPDATE {table.name} AS x SET {set_clause} WHERE {condition}",
            f"SELECT {kept} FROM {self._but_of(table, condition)} "
            f"UNION ALL SELECT {changed} FROM {table.name} AS x WHERE {condition}",
        )

    def delete(self, table: Table) -> tuple[str, str]:
        """Return a random DELETE, and a query over the old table of the rows after it."""
        condition = self._condition(Scope.of(table, "x"), subqueries=True)
        kept = ", ".join(f"x.{name}" for name in table.columns)
        return (
            f"DELETE FROM {table.name} AS x WHERE {condition}",
            f"SELECT {kept} FROM {self._but_of(table, condition)}",
        )

    @staticmethod
    def _but_of(table: Table, condition: str) -> str:
        """Return FROM text for the rows ``x`` for which a condition is not true.

        NOT would be wrong: Spark has other rules for NULL where a subquery is part of a condition.
        """
        return (
            f"{table.name} AS x LEFT ANTI JOIN (SELECT x.{table.key} FROM {table.name} AS x "
            f"WHERE {condition}) AS y ON x.{table.key} = y.{table.key}"
        )

    def merge(self, table: Table, source: Table) -> tuple[str, str]:
        """Return a random MERGE by the keys of both tables, and a query of the rows after it."""
        both = Scope.of(table, "x").with_all_of(Scope.of(source, "y"))
        target, other = Scope.of(table, "x"), Scope.of(source, "y")
        others = [name for name in table.columns if name != table.key]
        name = self._random.choice(others)
        new = self._value(table.columns[name], both)
        limit = self._condition(other)
        deleted, updated = self._condition(both), self._condition(both)
        inserted = self._condition(other)
        orphans = self._condition(target) if self._random.random() < 0.4 else None
        offset = self._offset()
        values = [
            f"y.{source.key} + {offset}" if c == table.key else self._value(kind, other)
            for c, kind in table.columns.items()
        ]
        on = f"x.{table.key} = y.{source.key}"
        statement = (
            f"MERGE INTO {table.name} AS x USING (SELECT * FROM {source.name} AS y WHERE {limit}) "
            f"AS y ON {on} WHEN MATCHED AND {deleted} THEN DELETE "
            f"WHEN MATCHED AND {updated} THEN UPDATE SET {name} = {new} "
            f"WHEN NOT MATCHED AND {inserted} THEN INSERT VALUES ({', '.join(values)})"
        )
        if orphans is not None:
            statement += f" WHEN NOT MATCHED BY SOURCE AND {orphans} THEN DELETE"
        is_deleted, is_updated = f"coalesce({deleted}, false)", f"coalesce({updated}, false)"
        columns = ", ".join(
            f"CASE WHEN {is_updated} THEN {new} ELSE x.{c} END AS {c}" if c == name else f"x.{c}"
            for c in table.columns
        )
        kept = ", ".join(f"x.{c}" for c in table.columns)
        rest = f"NOT coalesce({orphans}, false)" if orphans is not None else "true"
        wanted = f"(SELECT * FROM {source.name} AS y WHERE {limit}) AS y"
        after = (
            f"SELECT {columns} FROM {table.name} AS x JOIN {wanted} ON {on} WHERE NOT {is_deleted} "
            f"UNION ALL SELECT {kept} FROM {table.name} AS x LEFT ANTI JOIN {wanted} ON {on} "
            f"WHERE {rest} "
            f"UNION ALL SELECT {', '.join(values)} FROM {wanted} "
            f"LEFT ANTI JOIN {table.name} AS x ON {on} WHERE {inserted}"
        )
        return statement, after

    # Queries

    def _plain(self) -> str:
        table, alias = self._table(), self._alias()
        scope = Scope.of(table, alias)
        distinct = self._random.choice(["", "DISTINCT "])
        return f"SELECT {distinct}{self._values(scope)} {self._from(table, alias, scope)}"

    def _grouped(self) -> str:
        table, alias = self._table(), self._alias()
        scope = Scope.of(table, alias)
        groups = self._random.sample(list(scope.columns), self._random.randint(1, 2))
        having = f" HAVING count(*) > {self._random.randint(0, 3)}" * self._random.randint(0, 1)
        return (
            f"SELECT {', '.join(groups)}, {self._aggregates(scope)} "
            f"{self._from(table, alias, scope)} GROUP BY {', '.join(groups)}{having}"
        )

    def _counted(self) -> str:
        table, alias = self._table(), self._alias()
        what = self._random.choice(["count(*)", "count(1)", "count(*) + 1, 'x'"])
        return f"SELECT {what} {self._from(table, alias, Scope.of(table, alias))}"

    def _of_partitions(self) -> str:
        table = self._random.choice([t for t in self._tables if t.partitions])
        alias = self._alias()
        scope = Scope({f"{alias}.{n}": table.columns[n] for n in table.partitions})
        name = self._random.choice(list(scope.columns))
        source = self._from(table, alias, scope)
        form = self._random.choice(
            [
                f"SELECT max({name}) {source}",
                f"SELECT min({name}), max({name}) {source}",
                f"SELECT DISTINCT {name} {source}",
                f"SELECT count(DISTINCT {name}), max({name}) {source}",
                f"SELECT {name} {source} GROUP BY {name}",
                f"SELECT {name}, count(*) {source} GROUP BY {name}",
                f"SELECT max({name}) FILTER (WHERE {self._condition(scope)}) {source}",
            ]
        )
        outer, whole = self._alias(), self._table_of(table)
        if self._random.random() < 0.4:
            value = f"SELECT {self._random.choice(['max', 'min'])}({name}) {source}"
            own = name.partition(".")[2]
            compared = self._random.choice(["=", "<", ">=", "<=>"])
            return (
                f"SELECT {outer}.{table.key} FROM {whole} AS {outer} "
                f"WHERE {outer}.{own} {compared} ({value})"
            )
        return form

    def _joined(self) -> str:
        left, right = self._table(), self._table()
        a, b = self._alias(), self._alias()
        own, other = Scope.of(left, a), Scope.of(right, b)
        kind = self._random.choice(
            [
                "JOIN",
                "JOIN",
                "LEFT JOIN",
                "RIGHT JOIN",
                "FULL JOIN",
                "LEFT SEMI JOIN",
                "LEFT ANTI JOIN",
            ]
        )
        both = own.with_all_of(other)
        on = self._equality(own, other)
        if self._random.random() < 0.4:
            on += f" AND {self._condition(both)}"
        # Rows of both sides are limited, for each may match each.
        sides = [
            f"(SELECT * FROM {t.name} WHERE {t.key} % {self._random.choice([3, 7, 13])} < 2) AS {n}"
            if self._random.random() < 0.5
            else f"{t.name} AS {n}"
            for t, n in ((left, a), (right, b))
        ]
        seen = own if "SEMI" in kind or "ANTI" in kind else both
        where = f" WHERE {self._condition(seen, subqueries=True)}"
        what = self._random.choice([self._aggregates(seen), self._values(seen)])
        limited = f" AND {a}.{left.key} % 11 < 5" if what == self._values(seen) else ""
        return f"SELECT {what} FROM {sides[0]} {kind} {sides[1]} ON {on}{where}{limited}"

    def _with_table_expression(self) -> str:
        table, alias = self._table(), self._alias()
        scope = Scope.of(table, alias)
        name, columns = f"c{self._alias()}", ", ".join(scope.columns)
        a, b = self._alias(), self._alias()
        own, other = Scope.of(table, a), Scope.of(table, b)
        body = f"SELECT {columns} {self._from(table, alias, scope)}"
        both = own.with_all_of(other)
        return (
            f"WITH {name} AS ({body}) SELECT {self._aggregates(both)} FROM {name} AS {a} "
            f"JOIN {name} AS {b} ON {a}.{table.key} = {b}.{table.key} "
            f"WHERE {self._condition(own)} AND {self._condition(other)}"
        )

    def _united(self) -> str:
        table = self._table()
        kind = self._random.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"])
        names = self._random.sample(list(table.columns), 2)
        sides = []
        for _ in range(2):
            alias = self._alias()
            columns = ", ".join(f"{alias}.{name}" for name in names)
            scope = Scope.of(table, alias)
            sides.append(f"SELECT {columns} {self._from(table, alias, scope)}")
        outer = f"SELECT * FROM ({sides[0]} {kind} {sides[1]}) AS u"
        types = {f"u.{name}": table.columns[name] for name in names}
        return f"{outer} WHERE {self._condition(Scope(types))}"

    def _windowed(self) -> str:
        table, alias = self._table(), self._alias()
        scope = Scope.of(table, alias)
        group = self._random.choice(list(scope.columns))
        name = self._random.choice(list(scope.columns))
        inner = (
            f"SELECT {alias}.*, row_number() OVER (PARTITION BY {group} ORDER BY "
            f"{alias}.{table.key}) AS n, max({name}) OVER (PARTITION BY {group}) AS m "
            f"{self._from(table, alias, scope)}"
        )
        outer = Scope.of(table, "w")
        return f"SELECT w.{table.key}, w.n, w.m FROM ({inner}) AS w WHERE {self._condition(outer)}"

    def _first_rows(self) -> str:
        table, alias = self._table(), self._alias()
        scope = Scope.of(table, alias)
        order = self._random.choice(["", " DESC"])
        return (
            f"SELECT {self._values(scope)} {self._from(table, alias, scope)} "
            f"ORDER BY {alias}.{table.key}{order} LIMIT {self._random.randint(0, 9)}"
        )

    def _rolled_up(self) -> str:
        table, alias = self._table(), self._alias()
        scope = Scope.of(table, alias)
        groups = ", ".join(self._random.sample(list(scope.columns), 2))
        kind = self._random.choice(["ROLLUP", "CUBE"])
        return (
            f"SELECT {groups}, {self._aggregates(scope)} {self._from(table, alias, scope)} "
            f"GROUP BY {kind} ({groups})"
        )

    def _star(self) -> str:
        tables = [self._table() for _ in range(3)]
        aliases = [self._alias() for _ in tables]
        scopes = [Scope.of(t, a) for t, a in zip(tables, aliases, strict=True)]
        whole = scopes[0].with_all_of(scopes[1]).with_all_of(scopes[2])
        # Each row of the first meets at most one of each of the others.
        joins = [
            f"{self._random.choice(['JOIN', 'LEFT JOIN'])} {t.name} AS {a} "
            f"ON {a}.{t.key} = {self._random.choice(scopes[0].of_type('int'))}"
            for t, a in zip(tables[1:], aliases[1:], strict=True)
        ]
        conditions = " AND ".join(self._condition(scope) for scope in scopes)
        return (
            f"SELECT {self._aggregates(whole)} FROM {tables[0].name} AS {aliases[0]} "
            f"{' '.join(joins)} WHERE {conditions}"
        )

    def _with_value_of_row(self) -> str:
        table, other = self._table(), self._table()
        alias, inner = self._alias(), self._alias()
        scope, own = Scope.of(table, alias), Scope.of(other, inner)
        name = self._random.choice(list(own.columns))
        value = (
            f"SELECT max({name}) FROM {other.name} AS {inner} "
            f"WHERE {self._equality(own, scope)} AND {self._condition(own)}"
        )
        return f"SELECT {alias}.{table.key}, ({value}) AS v {self._from(table, alias, scope)}"

    # Parts of queries

    def _table_of(self, table: Table) -> str:
        """Return the name of a table, or a subquery of all its rows."""
        return self._random.choice([table.name, f"(SELECT * FROM {table.name})"])

    def _offset(self) -> int:
        """Return a number that makes new keys of old ones, of fewer than a thousand old ones."""
        self._inserts += 1
        return 1000 << self._inserts

    def _from(self, table: Table, alias: str, scope: Scope) -> str:
        source = f"FROM {self._table_of(table)} AS {alias}"
        if self._random.random() < 0.15:
            return source
        return f"{source} WHERE {self._condition(scope, subqueries=True)}"

    def _values(self, scope: Scope) -> str:
        columns = self._random.sample(list(scope.columns), self._random.randint(1, 3))
        made = [self._value(scope.columns[c], scope) for c in columns[1:]]
        return ", ".join(f"{value} AS v{i}" for i, value in enumerate([columns[0], *made]))

    def _aggregates(self, scope: Scope) -> str:
        made = []
        for _ in range(self._random.randint(1, 3)):
            name = self._random.choice(list(scope.columns))
            functions = ["max", "min", "count", "count(DISTINCT"]
            if scope.columns[name] in ("int", "decimal"):
                functions.append("sum")
            function = self._random.choice(functions)
            opened = function if "(" in function else f"{function}("
            space = " " if "(" in function else ""
            made.append(f"{opened}{space}{name})")
        return ", ".join(made)
