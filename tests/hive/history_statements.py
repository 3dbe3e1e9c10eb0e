"""Random statements of both dialects, with the rows of a table after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.hive.history_story import (
    DELETED,
    INSERTED,
    LEFT,
    Condition,
    Rows,
    Story,
    Values,
    Written,
)
from tests.hive.history_tables import KEY, Column, Engine, Schema, SourceRow
from tests.hive.history_values import NULL, Value


def _select(story: Story, columns: Sequence[Column], batch: int, hint: str = "") -> str:
    names = ", ".join([KEY, *(c.in_source for c in columns)])
    return f"SELECT {hint}{names} FROM {story.source_table} WHERE s_batch = {batch}"


def _hint(story: Story, by: Engine) -> str:
    several = by is Engine.ACIDSQL and story.rng.random() < 0.4
    return "/*+ REPARTITION(3) */ " if several else ""


def _new_rows(story: Story) -> Rows:
    return {key: story.new_values() for key in story.new_keys(story.rng.randint(1, 6))}


def _in_one_partition(story: Story, rows: Rows) -> tuple[Rows, tuple[str, ...]] | None:
    """Return the rows with the same values of partition columns, none of them NULL."""
    partitions = story.schema.partitions
    values = tuple(
        story.rng.choice([v for v in c.choices if v.shown is not None]) for c in partitions
    )
    if not values:
        return None
    count = len(values)
    moved = {key: (*row[:-count], *values) for key, row in rows.items()}
    return moved, tuple(v.shown for v in values)


def insert(story: Story, by: Engine) -> Written:
    """Return a random INSERT: VALUES, SELECT, into one partition, or FROM … INSERT … INSERT."""
    rows = _new_rows(story)
    schema, rng = story.schema, story.rng
    forms = ["select", "static"] if by is Engine.HIVE else ["select", "static", "values", "multi"]
    if by is Engine.HIVE and not schema.nested:
        forms.append("values")
    form = rng.choice(forms)
    one = _in_one_partition(story, rows) if form == "static" else None
    if one:
        rows, partition = one
        select = _select(story, schema.columns, story.batch(rows), _hint(story, by))
        text = f"INSERT INTO {story.table} PARTITION ({schema.named(partition)}) {select}"
    elif form == "values":
        tuples = (f"({', '.join([str(k), *(v.sql for v in row)])})" for k, row in rows.items())
        text = f"INSERT INTO {story.table} VALUES {', '.join(tuples)}"
    elif form == "multi":
        others = _new_rows(story)
        names = ", ".join([KEY, *(c.in_source for c in schema.all_columns)])
        branches = " ".join(
            f"INSERT INTO {story.table} SELECT {names} WHERE s_batch = {story.batch(part)}"
            for part in (rows, others)
        )
        text = f"FROM {story.source_table} {branches}"
        rows |= others
    else:
        select = _select(story, schema.all_columns, story.batch(rows), _hint(story, by))
        text = f"INSERT INTO {story.table} {select}"
    touched = frozenset(map(str, rows))
    return Written(statement=text, rows={**story.rows, **rows}, touched=touched)


def update(story: Story, by: Engine) -> Written | None:
    """Return a random UPDATE: to values, NULL or another column, or of the key.

    Hive updates no partition columns and no bucket columns.
    """
    settable = story.settable(by)
    condition = story.condition(by)
    keys = story.keys(condition)
    if story.rng.random() < 0.15 and (
        by is Engine.ACIDSQL or KEY not in story.schema.bucket_columns
    ):
        return _update_key(story, condition)
    if not settable:
        return None
    positions = sorted(story.rng.sample(settable, story.rng.randint(1, min(3, len(settable)))))
    changes = [(i, *_assigned(story, by, i)) for i in positions]
    columns = story.schema.all_columns
    sets = ", ".join(f"{columns[i].quoted} = {text}" for i, text, _ in changes)
    rows = dict(story.rows)
    for key in keys:
        old = rows[key]
        new = {i: value(old) for i, _, value in changes}
        rows[key] = tuple(new.get(i, v) for i, v in enumerate(old))
    text = f"UPDATE {story.table} SET {sets} WHERE {condition.text}"
    return Written(statement=text, rows=rows, touched=frozenset(map(str, keys)))


def _assigned(story: Story, by: Engine, position: int) -> tuple[str, Callable[[Values], Value]]:
    """Return the expression to which a column is set, and a function that computes its value."""
    columns = story.schema.all_columns
    column = columns[position]
    same = [
        i
        for i, other in enumerate(columns)
        if other.kind.name == column.kind.name and not (other.choices or column.choices)
    ]
    if len(same) > 1 and story.rng.random() < 0.5:
        other = story.rng.choice(same)
        return columns[other].quoted, lambda old: old[other]
    if by is Engine.HIVE and not column.kind.literals:
        # Hive does not take a bare NULL for a nested value.
        return f"IF({KEY} < 0, {column.quoted}, NULL)", lambda _: NULL
    value = column.value(story.rng)
    return value.sql, lambda _: value


def _update_key(story: Story, condition: Condition) -> Written:
    """Move keys above all others."""
    step = story.last_key + 1
    keys = story.keys(condition)
    rows = {key + step if key in keys else key: v for key, v in story.rows.items()}
    story.last_key += step
    return Written(
        statement=f"UPDATE {story.table} SET {KEY} = {KEY} + {step} WHERE {condition.text}",
        rows=rows,
    )


def delete(story: Story, by: Engine) -> Written:
    """Return a random DELETE of some rows."""
    condition = story.condition(by)
    gone = story.keys(condition)
    rows = {key: values for key, values in story.rows.items() if key not in gone}
    return Written(statement=f"DELETE FROM {story.table} WHERE {condition.text}", rows=rows)


def merge(story: Story, by: Engine) -> Written | None:
    """Return a random MERGE with UPDATE, DELETE and INSERT, each of some rows.

    With acidsql it may also change rows that no source row matches.
    """
    rng, settable = story.rng, story.settable(by)
    if not settable:
        return None
    known = rng.sample(sorted(story.rows), rng.randint(0, len(story.rows)))
    source = {key: story.new_values() for key in [*known, *story.new_keys(rng.randint(0, 4))]}
    ops = [rng.choice((INSERTED, INSERTED, DELETED, LEFT)) for _ in source]
    batch = story.batch(source, ops)
    positions = sorted(rng.sample(settable, rng.randint(1, len(settable))))
    columns = story.schema.all_columns
    names = ", ".join([KEY, *(c.quoted for c in columns)])
    given = ", ".join([f"s.{KEY}", *(f"s.{c.in_source}" for c in columns)])
    listed = f" ({names})" if by is Engine.ACIDSQL else ""
    sets = ", ".join(f"{columns[i].quoted} = s.{columns[i].in_source}" for i in positions)
    clauses = [
        f"WHEN MATCHED AND s.s_op = {INSERTED} THEN UPDATE SET {sets}",
        f"WHEN MATCHED AND s.s_op = {DELETED} THEN DELETE",
    ]
    rng.shuffle(clauses)
    clauses.append(f"WHEN NOT MATCHED AND s.s_op = {INSERTED} THEN INSERT{listed} VALUES ({given})")
    rows, touched = dict(story.rows), set[int]()
    for op, (key, values) in zip(ops, source.items(), strict=True):
        if op == INSERTED and key in rows:
            touched.add(key)
            rows[key] = tuple(
                new if i in positions else old
                for i, (old, new) in enumerate(zip(rows[key], values, strict=True))
            )
        elif op == INSERTED:
            rows[key] = values
        elif op == DELETED:
            rows.pop(key, None)
    if by is Engine.ACIDSQL and rng.random() < 0.4:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{KEY} % 3 = 1 THEN DELETE")
        rows = {k: v for k, v in rows.items() if k in source or k % 3 != 1}
    text = (
        f"MERGE INTO {story.table} t USING (SELECT * FROM {story.source_table} "
        f"WHERE s_batch = {batch}) s ON t.{KEY} = s.{KEY} {' '.join(clauses)}"
    )
    return Written(statement=text, rows=rows, touched=frozenset(map(str, touched)))


def overwrite(story: Story, by: Engine) -> Written:
    """Return an INSERT OVERWRITE of the table, of one partition, or of those that get rows."""
    rows = _new_rows(story)
    schema = story.schema
    count = len(schema.partitions)
    one = _in_one_partition(story, rows) if story.rng.random() < 0.5 else None
    if one:
        rows, partition = one
        select = _select(story, schema.columns, story.batch(rows), _hint(story, by))
        where = f" PARTITION ({schema.named(partition)})"
    else:
        select = _select(story, schema.all_columns, story.batch(rows), _hint(story, by))
        names = ", ".join(c.quoted for c in schema.partitions)
        where = f" PARTITION ({names})" if names else ""
    replaced = {_partition(values, count) for values in rows.values()}
    kept = {k: v for k, v in story.rows.items() if _partition(v, count) not in replaced}
    return Written(
        statement=f"INSERT OVERWRITE TABLE {story.table}{where} {select}", rows={**kept, **rows}
    )


def truncate(story: Story, _by: Engine) -> Written:
    """Return a TRUNCATE of the table, or of one partition."""
    count = len(story.schema.partitions)
    named = [p for p in story.partitions if None not in p]
    if not named or story.rng.random() < 0.3:
        return Written(statement=f"TRUNCATE TABLE {story.table}", rows={})
    partition = story.rng.choice(named)
    kept = {k: v for k, v in story.rows.items() if _partition(v, count) != partition}
    where = story.schema.named(partition)
    return Written(statement=f"TRUNCATE TABLE {story.table} PARTITION ({where})", rows=kept)


def alter(story: Story, _by: Engine) -> Written | None:
    """Return an ALTER TABLE … ADD COLUMNS, or a CHANGE of a name."""
    schema, rng = story.schema, story.rng
    cascade = " CASCADE" if schema.partitions else ""
    if schema.later:
        added, *later = schema.later
        count = len(schema.columns)
        return Written(
            statement=f"ALTER TABLE {story.table} ADD COLUMNS ({added.definition}){cascade}",
            rows={k: (*v[:count], NULL, *v[count:]) for k, v in story.rows.items()},
            schema=replace(schema, columns=(*schema.columns, added), later=tuple(later)),
        )
    free = [c for c in schema.columns if c.name not in schema.bucket_columns]
    if not free:
        return None
    old = rng.choice(free)
    new = replace(old, name=f"{old.first_name}_{story.last_key}_{story.batches}")
    return Written(
        statement=f"ALTER TABLE {story.table} CHANGE {old.quoted} {new.definition}{cascade}",
        rows=story.rows,
        schema=replace(schema, columns=tuple(new if c is old else c for c in schema.columns)),
    )


def _partition(values: Values, count: int) -> tuple[str | None, ...]:
    return tuple(value.shown for value in values[len(values) - count :])


def source_statements(
    schema: Schema, source_table: str, source: Sequence[SourceRow]
) -> tuple[str, ...]:
    """Return the statements of acidsql that create and fill the source table."""
    rows = ", ".join(
        f"({', '.join([str(r.batch), str(r.op), str(r.key), *(v.sql for v in r.values)])})"
        for r in source
    )
    create = schema.create_source(source_table)
    return (create, f"INSERT INTO {source_table} VALUES {rows}") if source else (create,)
