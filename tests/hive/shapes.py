"""Tables that Hive makes for the tests, beyond those of ``tests/golden``, as lists of statements.

``{t}`` is the table's name. Two words are not statements of Hive: ``worker`` runs a round of the
compactor, ``cleaner`` one of its cleaner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
PLAIN = "STORED AS ORC"
TO_ACID = "ALTER TABLE {t} SET TBLPROPERTIES ('transactional'='true')"
_QUERY_COMPACTION = "SET hive.compactor.crud.query.based={}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSchema:
    """Table made by statements; ``file_format`` is the word of its STORED AS."""

    name: str
    statements: tuple[str, ...]
    file_format: str = "ORC"


def _insert_only(file_format: str) -> str:
    return (
        f"STORED AS {file_format} TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='insert_only')"
    )


# By two partitions each.
_NUMBERS = {
    "tinyint": ("-7", "1"),
    "smallint": ("-300", "300"),
    "int": ("007", "-1"),
    "bigint": ("9000000000", "-9000000000"),
    "float": ("1.5", "-0.25"),
    "double": ("2.5", "1e20"),
    "decimal(8,3)": ("1.500", "-2"),
}
_TEXTS_AND_TIMES = {
    "boolean": ("true", "false"),
    "string": ("'a=b/c'", "' '"),
    "char(4)": ("'ab'", "'abcd'"),
    "varchar(4)": ("'ab'", "' x'"),
    "date": ("DATE '2024-02-29'", "DATE '0001-01-01'"),
    "timestamp": ("TIMESTAMP '2024-02-29 12:34:56'", "TIMESTAMP '2024-02-29 12:34:56.789'"),
}


def _partitioned_by(name: str, values: Mapping[str, tuple[str, str]]) -> WriteSchema:
    columns = ", ".join(f"p{i} {kind}" for i, kind in enumerate(values))
    names = ", ".join(f"p{i}" for i in range(len(values)))
    first, second = (", ".join(pair[i] for pair in values.values()) for i in range(2))
    return WriteSchema(
        name=f"partitioned_by_{name}",
        statements=(
            f"CREATE TABLE {{t}} (id INT) PARTITIONED BY ({columns}) {ACID}",
            f"INSERT INTO {{t}} PARTITION ({names}) VALUES (0, {first}), (1, {second})",
            "UPDATE {t} SET id = id + 10 WHERE id = 1",
            f"INSERT INTO {{t}} PARTITION ({names}) SELECT id + 20, {names} FROM {{t}}",
        ),
    )


SHAPES = (
    _partitioned_by("numbers", _NUMBERS),
    _partitioned_by("texts_and_times", _TEXTS_AND_TIMES),
    WriteSchema(
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
    WriteSchema(
        name="overwrite_static_partition",
        statements=(
            f"CREATE TABLE {{t}} (id INT) PARTITIONED BY (p INT) {ACID}",
            "INSERT INTO {t} PARTITION (p) VALUES (1, 1), (2, 1), (3, 2)",
            "INSERT OVERWRITE TABLE {t} PARTITION (p = 1) SELECT 4",
            "UPDATE {t} SET id = id + 10 WHERE p = 1",
        ),
    ),
    WriteSchema(
        name="overwrite_with_nothing",
        statements=(
            f"CREATE TABLE {{t}} (id INT) {ACID}",
            "INSERT INTO {t} VALUES (1), (2)",
            "INSERT OVERWRITE TABLE {t} SELECT * FROM {t} WHERE id > 9",
            "INSERT INTO {t} VALUES (3)",
        ),
    ),
    WriteSchema(
        name="overwrite_then_compacted",
        statements=(
            f"CREATE TABLE {{t}} (id INT) {ACID}",
            "INSERT INTO {t} VALUES (1), (2)",
            "INSERT OVERWRITE TABLE {t} SELECT id + 2 FROM {t}",
            "DELETE FROM {t} WHERE id = 3",
            "INSERT INTO {t} VALUES (5)",
            "ALTER TABLE {t} COMPACT 'major'",
            "worker",
        ),
    ),
    WriteSchema(
        name="multi_insert_into_partitions",
        statements=(
            f"CREATE TABLE {{t}} (id INT, s STRING) PARTITIONED BY (p INT) {ACID}",
            """FROM (SELECT stack(3, 1, 'a', 2, 'b', 3, 'c') AS (id, s)) x
               INSERT INTO {t} PARTITION (p = 1) SELECT id, s WHERE id < 3
               INSERT INTO {t} PARTITION (p = 2) SELECT id, s WHERE id > 1""",
            "DELETE FROM {t} WHERE id = 2 AND p = 2",
        ),
    ),
    WriteSchema(
        name="create_as_select",
        statements=(
            f"CREATE TABLE {{t}} {ACID} AS SELECT stack(2, 1, 'a', 2, 'b') AS (id, s)",
            "DELETE FROM {t} WHERE id = 1",
        ),
    ),
    WriteSchema(
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
    WriteSchema(
        name="columns_added_by_cascade",
        statements=(
            f"CREATE TABLE {{t}} (id INT) PARTITIONED BY (p INT) {ACID}",
            "INSERT INTO {t} PARTITION (p) VALUES (1, 1), (2, 2)",
            "ALTER TABLE {t} ADD COLUMNS (s STRING) CASCADE",
            "INSERT INTO {t} PARTITION (p) VALUES (3, 'c', 1)",
            "UPDATE {t} SET s = 'u' WHERE id = 1",
            "ALTER TABLE {t} ADD COLUMNS (n INT)",
            "INSERT INTO {t} PARTITION (p) VALUES (4, 'd', 40, 3)",
        ),
    ),
    WriteSchema(
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
    WriteSchema(
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
    WriteSchema(
        name="original_files_in_partitions",
        statements=(
            f"CREATE TABLE {{t}} (id INT) PARTITIONED BY (p INT) {PLAIN}",
            "INSERT INTO {t} PARTITION (p) VALUES (1, 1), (2, 1), (3, 2), (4, 2)",
            "INSERT INTO {t} PARTITION (p) VALUES (5, 1), (6, 2)",
            TO_ACID,
            "UPDATE {t} SET id = id + 10 WHERE id IN (1, 5)",
            "INSERT INTO {t} PARTITION (p) VALUES (7, 3)",
            "ALTER TABLE {t} PARTITION (p = 1) COMPACT 'major'",
            "worker",
        ),
    ),
    WriteSchema(
        name="load_data_into_a_partition",
        statements=(
            f"CREATE TABLE {{t}}_source (id INT) {PLAIN}",
            "INSERT INTO {t}_source VALUES (1), (2), (3)",
            "INSERT INTO {t}_source VALUES (4), (5)",
            f"CREATE TABLE {{t}} (id INT) PARTITIONED BY (p INT) {ACID}",
            "INSERT INTO {t} PARTITION (p = 1) VALUES (9)",
            "LOAD DATA INPATH '{warehouse}/{t}_source' INTO TABLE {t} PARTITION (p = 1)",
            "DELETE FROM {t} WHERE id IN (2, 5)",
        ),
    ),
    WriteSchema(
        name="merged_by_query_compaction",
        statements=(
            _QUERY_COMPACTION.format("true"),
            f"CREATE TABLE {{t}} (id INT, s STRUCT<A:INT,b:STRING>) PARTITIONED BY (p INT) {ACID}",
            "INSERT INTO {t} PARTITION (p) SELECT 1, named_struct('A', 1, 'b', 'x'), 1",
            "INSERT INTO {t} PARTITION (p) SELECT 2, named_struct('A', 2, 'b', 'y'), 1",
            "DELETE FROM {t} WHERE id = 1",
            "ALTER TABLE {t} PARTITION (p = 1) COMPACT 'minor'",
            "worker",
            "cleaner",
            "INSERT INTO {t} PARTITION (p) SELECT 3, named_struct('A', 3, 'b', ''), 1",
            "UPDATE {t} SET id = 4 WHERE id = 2",
            "ALTER TABLE {t} PARTITION (p = 1) COMPACT 'major'",
            "worker",
            "cleaner",
            "DELETE FROM {t} WHERE id = 3",
            _QUERY_COMPACTION.format("false"),
        ),
    ),
    *(
        WriteSchema(
            name=f"insert_only_{file_format.lower()}",
            file_format=file_format,
            statements=(
                f"CREATE TABLE {{t}} (id INT, s STRING) PARTITIONED BY (p INT) "
                f"{_insert_only(file_format)}",
                "INSERT INTO {t} PARTITION (p) VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, 2)",
                "INSERT INTO {t} PARTITION (p = 1) SELECT id, s FROM {t} WHERE p = 1 "
                "UNION ALL SELECT id + 3, 'd' FROM {t} WHERE p = 2",
                "INSERT OVERWRITE TABLE {t} PARTITION (p = 2) SELECT 6, ''",
                "START TRANSACTION",
                "INSERT INTO {t} PARTITION (p) VALUES (7, 'never', 1)",
                "ROLLBACK",
                "INSERT INTO {t} PARTITION (p) VALUES (8, 'h', 1)",
            ),
        )
        for file_format in ("ORC", "PARQUET", "TEXTFILE")
    ),
    WriteSchema(
        name="insert_only_parquet_compacted",
        file_format="PARQUET",
        statements=(
            f"CREATE TABLE {{t}} (id INT, s STRING) {_insert_only('PARQUET')}",
            "INSERT INTO {t} VALUES (1, 'a')",
            "INSERT INTO {t} VALUES (2, 'b')",
            "INSERT INTO {t} VALUES (3, 'c')",
            "ALTER TABLE {t} COMPACT 'minor'",
            "worker",
            "INSERT INTO {t} VALUES (4, 'd')",
            "ALTER TABLE {t} COMPACT 'major'",
            "worker",
            "cleaner",
            "INSERT INTO {t} VALUES (5, 'e')",
        ),
    ),
)
