"""Tables that Hive makes for the tests, beyond those of ``tests/golden``: lists of statements.

``{t}`` is the table's name. Two words are none of Hive's statements: ``worker`` runs a round of the
compactor, ``cleaner`` one of its cleaner.
"""

from __future__ import annotations

from dataclasses import dataclass

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
PLAIN = "STORED AS ORC"
TO_ACID = "ALTER TABLE {t} SET TBLPROPERTIES ('transactional'='true')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A table, made by statements; ``file_format`` is the word of its STORED AS."""

    name: str
    statements: tuple[str, ...]
    file_format: str = "ORC"


SHAPES = (
    Shape(
        name="nested",
        statements=(
            f"""CREATE TABLE {{t}} (id INT,
                a ARRAY<STRUCT<d:DATE,t:TIMESTAMP,n:ARRAY<INT>>>,
                m MAP<STRING,STRUCT<x:DECIMAL(10,2),c:CHAR(3),v:VARCHAR(3)>>,
                s STRUCT<b:BOOLEAN,f:FLOAT,m:MAP<INT,BIGINT>>) {ACID}""",
            # Hive casts no field of a struct, and types a literal by its value.
            "CREATE TABLE {t}_leaves (x DECIMAL(10,2), c CHAR(3), v VARCHAR(3), f FLOAT) " + PLAIN,
            "INSERT INTO {t}_leaves VALUES (1.5, 'ab', 'ab', 1.5)",
            """INSERT INTO {t} SELECT 1,
                array(named_struct('d', DATE '2024-02-29', 't', TIMESTAMP '2024-02-29 01:02:03.5',
                    'n', array(1, 2))),
                map('k', named_struct('x', x, 'c', c, 'v', v)),
                named_struct('b', true, 'f', f, 'm', map(7, 8L)) FROM {t}_leaves""",
            "INSERT INTO {t} SELECT id + 1, a, m, IF(id > 5, s, NULL) FROM {t}",
            "INSERT INTO {t} SELECT id + 2, IF(id > 5, a, NULL), IF(id > 5, m, NULL), s FROM {t}",
            "UPDATE {t} SET id = 11 WHERE id = 1",
        ),
    ),
    Shape(
        name="widened_columns",
        statements=(
            "CREATE TABLE {t} (id INT, n SMALLINT, f FLOAT, d DECIMAL(5,2), v VARCHAR(3)) " + ACID,
            "INSERT INTO {t} VALUES (1, 1, 1.5, 1.25, 'abc'), (2, NULL, NULL, NULL, NULL)",
            "ALTER TABLE {t} CHANGE id id BIGINT",
            "ALTER TABLE {t} CHANGE n n INT",
            "ALTER TABLE {t} CHANGE f f DOUBLE",
            "ALTER TABLE {t} CHANGE d d DECIMAL(12,4)",
            "ALTER TABLE {t} CHANGE v v STRING",
            "INSERT INTO {t} VALUES (9000000000, 70000, 2.5D, 12345678.1234, 'abcdef')",
            "UPDATE {t} SET v = 'u' WHERE id = 2",
        ),
    ),
    Shape(
        name="more_than_ten_original_files",
        statements=(
            f"CREATE TABLE {{t}} (id INT, s STRING) {PLAIN}",
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
            *(f"INSERT INTO {{t}} VALUES ({i}, 'c{i}'), ({i + 100}, 'd')" for i in range(3, 15)),
            TO_ACID,
            "DELETE FROM {t} WHERE id IN (1, 104, 12)",
            "UPDATE {t} SET s = 'u' WHERE id IN (2, 111)",
        ),
    ),
    Shape(
        name="original_files_in_union_directories",
        statements=(
            f"CREATE TABLE {{t}}_left (id INT, s STRING) {PLAIN}",
            f"CREATE TABLE {{t}}_right (id INT, s STRING) {PLAIN}",
            "INSERT INTO {t}_left VALUES (1, 'a'), (2, 'b')",
            "INSERT INTO {t}_right VALUES (3, 'c'), (4, 'd')",
            f"CREATE TABLE {{t}} (id INT, s STRING) {PLAIN}",
            "INSERT INTO {t} SELECT * FROM {t}_left UNION ALL SELECT * FROM {t}_right",
            "INSERT INTO {t} VALUES (5, 'e')",
            TO_ACID,
            "DELETE FROM {t} WHERE id IN (2, 3)",
            "INSERT INTO {t} VALUES (6, 'f')",
        ),
    ),
)
