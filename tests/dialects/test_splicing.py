from __future__ import annotations

import pytest

from acidsql import dialects
from acidsql.errors import AcidAnalysisError, AcidDialectError, AcidParseError

NOTHING_SET: dict[str, str] = {}


def hive(text: str, **settings: str) -> str:
    return dialects.translate(text, "hive", settings.get).text


KEPT = [
    "SELECT a , b\n\tFROM t WHERE c = 'x'",
    "SELECT substr(s, 2), lpad(s, 3, '*'), pmod(7, 3), log(10, x) FROM t",
    "INSERT INTO TABLE trunc (greatest) VALUES (1)",
    "INSERT INTO db.least (a, b) SELECT 1, 2",
    "WITH greatest (a, b) AS (SELECT 1, 2) SELECT * FROM greatest",
    "CREATE TABLE t (c CHAR(3), v VARCHAR(5)) STORED AS ORC",
    "SELECT `greatest(1, NULL)` FROM t",
    "SELECT 'greatest(a, b)' FROM t",
    "SELECT x.greatest FROM x",
    "SELECT CAST('2024-02-29' AS DATE), to_date('2024-02-29 10:00:00')",
    "SELECT CAST(x AS BIGINT), CAST(x AS DECIMAL(10,2))",
    "ALTER TABLE t COMPACT 'major'",
    "MSCK REPAIR TABLE t",
    "SHOW TABLES LIKE 'a*'",
    "SELECT 1L, 2S, 3Y, 1.5BD, 1e3",
    "SELECT :name, ?",
    "CREATE TABLE t (a INT) TBLPROPERTIES ('acid.fetch.deleted.rows'='true')",
    "SELECT f('acid.fetch.deleted.rows'), if('a'='b', 1, 2) FROM t",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_means_the_same_stays_character_by_character(text: str) -> None:
    assert hive(text) == text


EDITS = [
    (
        "SELECT * FROM t('acid.fetch.deleted.rows'='true') a "
        "JOIN d.`u`('acid.fetch.deleted.rows'='true')",
        "SELECT * FROM t WITH ('acid.fetch.deleted.rows'='true') a "
        "JOIN d.`u` WITH ('acid.fetch.deleted.rows'='true')",
    ),
    (
        "SELECT greatest(a, b)",
        "SELECT CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE greatest(a, b) END",
    ),
    ("SELECT Std( x )", "SELECT stddev_pop(x)"),
    ("SELECT VARIANCE(x + 1) v", "SELECT var_pop(x + 1) v"),
    ("SELECT sqrt(a - b)", "SELECT nullif(sqrt((a - b)), CAST('NaN' AS DOUBLE))"),
    ("SELECT sqrt(t.a[1])", "SELECT nullif(sqrt(t.a[1]), CAST('NaN' AS DOUBLE))"),
    ("SELECT `stddev`(x)", "SELECT stddev_pop(x)"),
    ("SELECT variance(stddev(x))", "SELECT var_pop(stddev_pop(x))"),
    (
        "UPDATE t SET a = stddev(b) WHERE std(c) > 1",
        "UPDATE t SET a = stddev_pop(b) WHERE stddev_pop(c) > 1",
    ),
    ("SELECT 'a''b', 'it\\'s'", "SELECT 'a' 'b', 'it\\'s'"),
    ("SELECT trunc(d, 'Q')", "SELECT trunc(d, 'QUARTER')"),
    ("SELECT CAST(a AS VARCHAR(3))", "SELECT substr(CAST(a AS STRING), 1, 3)"),
    ("SELECT CAST(a || b AS CHAR(3))", "SELECT rtrim(substr(CAST((a || b) AS STRING), 1, 3))"),
    (
        "SELECT CAST(a AS DATE)",
        "SELECT CASE WHEN typeof(a) = 'string' AND length(trim(CAST(a AS STRING))) < 8 THEN NULL "
        "ELSE CAST(a AS DATE) END",
    ),
    ("SELECT floor(ts TO hour)", "SELECT date_trunc('HOUR', ts)"),
    ("SELECT extract(second FROM ts)", "SELECT second(ts)"),
    ("SELECT field(a, 1, 2)", "SELECT CAST(coalesce(array_position(array(1, 2), a), 0) AS INT)"),
    ("SELECT a FROM t LIMIT 5, 10", "SELECT a FROM t LIMIT 10 OFFSET 5"),
    ("SELECT a -- stddev(\\\nFROM t", "SELECT a            \nFROM t"),
    ("SELECT /* greatest(a */ b", "SELECT                  b"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "edited"), EDITS)
def test_what_differs_is_edited_in_its_place(text: str, edited: str) -> None:
    assert hive(text) == edited


ORDERS = [
    ("ORDER BY a", "ORDER BY a NULLS LAST"),
    ("ORDER BY a DESC", "ORDER BY a DESC NULLS FIRST"),
    ("ORDER BY a, b DESC", "ORDER BY a NULLS LAST, b DESC NULLS FIRST"),
    ("ORDER BY a NULLS FIRST, b", "ORDER BY a NULLS FIRST, b NULLS LAST"),
    ("ORDER BY f(a, b) LIMIT 3", "ORDER BY f(a, b) NULLS LAST LIMIT 3"),
    ("DISTRIBUTE BY a SORT BY b", "DISTRIBUTE BY a SORT BY b NULLS LAST"),
    ("ORDER BY t.limit, b", "ORDER BY t.limit NULLS LAST, b NULLS LAST"),
]


@pytest.mark.parametrize(("clause", "edited"), ORDERS)
def test_order_says_where_nulls_are(clause: str, edited: str) -> None:
    assert hive(f"SELECT a FROM t {clause}") == f"SELECT a FROM t {edited}"
    assert hive(f"SELECT (SELECT 1 {clause})") == f"SELECT (SELECT 1 {edited})"


def test_order_of_a_window_ends_at_its_frame() -> None:
    text = "SELECT sum(a) OVER (PARTITION BY b ORDER BY c {}ROWS UNBOUNDED PRECEDING) FROM t"
    assert hive(text.format("")) == text.format("NULLS LAST ")
    within = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t"
    assert hive(within) == within


def test_settings_of_hive_that_decide_what_a_text_means() -> None:
    text = "SELECT a FROM t ORDER BY a"
    read = {"hive.default.nulls.last": "false", "hive.support.quoted.identifiers": "none"}
    translation = dialects.translate(text, "hive", read.get)
    assert translation.text == text
    assert translation.settings["spark.sql.parser.quotedRegexColumnNames"] == "true"
    assert translation.settings["spark.sql.ansi.enabled"] == "false"


REFUSED = [
    ("SELECT a,\n hash(a)", "hash() has other values in Spark", 2, 2, "hash"),
    ("SELECT trunc(d, 'WEEK')", "trunc() with the format 'WEEK' is always NULL", 1, 8, "trunc"),
    ("SELECT CAST(a AS DATE FORMAT 'yyyy')", "Spark has no CAST with FORMAT", 1, 8, "CAST"),
    ("SELECT greatest(rand(), 1)", "rand() would be computed several times", 1, 8, "greatest"),
    ("SELECT a LIKE 'x\\\\y'", "LIKE with a backslash", 1, 15, ""),
    ("SELECT a RLIKE ''", "RLIKE '' is never true in Hive", 1, 16, ""),
    ("SELECT instr(a, '')", "instr() with an empty string", 1, 8, "instr"),
    ("CREATE VIEW w AS SELECT 1", "the query of a view is not carried over", 1, 8, "VIEW"),
    ("ALTER VIEW w AS SELECT 1", "the query of a view is not carried over", 1, 7, "VIEW"),
    ("dfs -ls /", "DFS is a command of Hive's shells: use hdfs dfs", 1, 1, "dfs"),
    ("!ls", "! is a command of Hive's shells", 1, 1, ""),
    ("SOURCE other.hql", "SOURCE is a command of Hive's shells", 1, 1, "SOURCE"),
    ("SET system:user.name=x", "system:user.name cannot be set from SQL", 1, 5, "system"),
    ("SET hive.datetime.formatter=SIMPLE", "hive.datetime.formatter is always", 1, 5, "hive"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "line", "column", "fragment"), REFUSED)
def test_what_cannot_be_carried_over_is_refused_at_its_place(
    text: str, message: str, line: int, column: int, fragment: str
) -> None:
    with pytest.raises(AcidDialectError) as caught:
        hive(text)
    error = caught.value
    assert error.getCondition() == "UNSUPPORTED_DIALECT_FEATURE"
    assert error.getSqlState() == "0A000"
    assert message in str(error)
    assert (error.line, error.column, error.fragment) == (line, column, fragment)


MALFORMED = [
    ("SELECT 'a", "a string or comment has no end", 8),
    ("SELECT (1", "'(' has no partner", 8),
    ("SELECT 1)", "unexpected ')'", 9),
    ("SELECT (1]", "unexpected ']'", 10),
]


@pytest.mark.parametrize("dialect", ["hive", "trino"])
@pytest.mark.parametrize(("text", "message", "column"), MALFORMED)
def test_a_text_without_end_is_malformed(
    dialect: str, text: str, message: str, column: int
) -> None:
    with pytest.raises(AcidParseError) as caught:
        dialects.translate(text, dialect, NOTHING_SET.get)
    assert message in str(caught.value)
    assert caught.value.column == column


def test_settings_are_kept_with_a_warning_if_they_do_nothing() -> None:
    assert hive("SET hiveconf:day=2024-02-29") == "SET day=2024-02-29"
    assert hive("SET hivevar:day = 2024-02-29") == "SET day=2024-02-29"
    done = dialects.translate("-- fast \\\nset hive.exec.parallel = true", "hive", NOTHING_SET.get)
    assert done.text == "SET hive.exec.parallel=true"
    assert done.warnings == ("hive.exec.parallel is kept and has no effect on Spark",)
    assert not dialects.translate(
        "SET hive.default.nulls.last=true", "hive", NOTHING_SET.get
    ).warnings


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("impala", "Impala's dialect is not carried over: use one of spark, hive, trino"),
        ("Mysql", "there is no dialect 'Mysql': use one of spark, hive, trino"),
    ],
)
def test_a_dialect_that_is_not_known(name: str, message: str) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        dialects.translate("SELECT 1", name, NOTHING_SET.get)
    assert caught.value.getCondition() == "INVALID_PARAMETER_VALUE.DIALECT"
    assert caught.value.getSqlState() == "22023"
    assert message in str(caught.value)


def test_sparks_own_dialect_is_left_alone() -> None:
    text = "SELECT stddev(x) ORDER BY 1 --"
    done = dialects.translate(text, "Spark", NOTHING_SET.get)
    assert (done.text, done.settings) == (text, {})


@pytest.mark.parametrize(
    ("dialect", "opening", "closing"),
    [
        *(("hive", *around) for around in (("(", ")"), ("abs(", ")"), ("a[", "]"))),
        *(("trino", *around) for around in (("(", ")"), ("abs(", ")"), ("NOT ", ""), ("- ", ""))),
    ],
)
def test_what_is_nested_too_deeply_is_refused(dialect: str, opening: str, closing: str) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        dialects.translate(f"SELECT {opening * 20_000}a{closing * 20_000}", dialect, lambda _: None)
    assert caught.value.getCondition() == "FAILED_TO_PARSE_TOO_COMPLEX"
    assert caught.value.getSqlState() == "54001"


def test_a_long_word_is_cut_in_the_message() -> None:
    with pytest.raises(AcidParseError) as caught:
        dialects.translate(f"SELECT FROM {'x' * 100_000} y z", "trino", lambda _: None)
    assert len(str(caught.value)) < 500
