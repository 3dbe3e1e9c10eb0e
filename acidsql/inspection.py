"""Public functions that inspect a table's files: ``check``, ``health`` and ``files``.

Their examples run with ``spark``, a session, and the table of ``acidsql.api``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from acidsql import bridge
from acidsql.api import sql, working
from acidsql.commands import describe_health
from acidsql.file_dump.description import FileDescription, UnreadableFile
from acidsql.file_dump.finding import find_files
from acidsql.file_dump.places import describe_files, files_of_table, is_path
from acidsql.format.health import Health
from acidsql.planning.name_resolution import acid_table
from acidsql.session.process import check_session
from acidsql.syntax.lexer import quote


def check(
    spark: SparkSession,
    name: str,
    *,
    full: bool = False,
    repair: bool = False,
    dry_run: bool = False,
) -> DataFrame:
    """Check a table, as ``CHECK TABLE`` does.

    Each problem is reported with its place, its severity and the remedy.

    Args:
        spark: the session.
        name: name as in SQL: ``t``, ``db.t``, with backticks where needed.
        full: whether to read the row ids of all rows and delete events too. Otherwise only names
            and the ends of files are checked.
        repair: whether to repair problems that can be repaired safely. Nothing is deleted.
        dry_run: whether to report possible repairs, and repair nothing.

    Returns:
        A row for each problem, the worst first; no rows if the table is healthy.

    Raises:
        AcidSqlError: see ``sql``.

    >>> acidsql.check(spark, "pet", full=True).collect()
    []
    """
    check_session(spark)
    parts = bridge.parse_name(spark, name)
    clauses = [
        "FULL" if full else "FAST",
        *(["REPAIR"] if repair or dry_run else []),
        *(["DRY RUN"] if dry_run else []),
    ]
    return sql(spark, f"CHECK TABLE {'.'.join(map(quote, parts))} {' '.join(clauses)}")


def health(spark: SparkSession, name: str) -> tuple[Health, ...]:
    """Return the state of a table or of each partition, with advice, as ``DESCRIBE HEALTH`` does.

    The function lists directories and reads the tails of ORC files, but it reads no rows.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW, NOT_A_TRANSACTIONAL_TABLE.

    >>> deleted = acidsql.sql(spark, "DELETE FROM pet WHERE id = 2")
    >>> (pets,) = acidsql.health(spark, "pet")
    >>> pets.deltas, pets.stored_rows, pets.delete_events, pets.deleted_share
    (2, 2, 1, 0.5)
    >>> [sentence.partition(":")[0] for sentence in pets.advice]
    ['50% of the stored rows are deleted and still read']
    """
    with working(spark) as session:
        wanted = acid_table(session, bridge.parse_name(spark, name))
        return describe_health.health(session, wanted)


def files(spark: SparkSession, place: str) -> tuple[FileDescription | UnreadableFile, ...]:
    """Describe the files of a table or below a path, as Hive's ``--orcfiledump`` does.

    The function needs pyorc, an optional extra: ``pip install 'acidsql[files]'``.

    Args:
        spark: the session.
        place: name of the table, as in SQL; or path of a directory or file, with a ``/`` in it.

    Returns:
        A description of each file, also of files that statements do not read; for a damaged file,
        the reason.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW, NOT_A_TRANSACTIONAL_TABLE, PYORC_MISSING.
        FileNotFoundError: the path does not exist.

    >>> first, second = acidsql.files(spark, "pet")
    >>> second.file.directory.name, second.file.bucket, second.rows, second.metadata
    ('delta_0000002_0000002_0000', 0, 1, {...'hive.acid.stats': b'1,0,0'...})
    """
    with working(spark) as session:
        if is_path(place):
            path = session.files.qualify(place).rstrip("/")
            return describe_files(session.files, find_files(session.files, path))
        wanted = acid_table(session, bridge.parse_name(spark, place))
        table_files = files_of_table(session.files, session.metastore, wanted)
        return describe_files(session.files, table_files)
