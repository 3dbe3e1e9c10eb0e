"""``acidsql.enable`` and ``disable``: replace PySpark's methods while a session is enabled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.api import working
from acidsql.enabled import catalog_statements, queries, streams, writers
from acidsql.enabled.routing import SETTING


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replacement:
    """Method or property of a PySpark class, with its replacement."""

    owner: type
    name: str
    original: Any
    replacement: Any


_lock = threading.Lock()
_enabled: set[str] = set()
_replacements: list[_Replacement] = []


def enable(spark: SparkSession) -> None:
    """Make a session's PySpark methods read and write ACID tables.

    ``spark.sql``, ``spark.table``, ``spark.read.table``, ``spark.catalog``, ``df.write``,
    ``df.writeTo`` and ``df.mergeInto`` use acidsql if they name an ACID table. Otherwise they run
    in Spark. Enabling a session twice has no further effect.

    Args:
        spark: the session; other handles of the same session are enabled too.

    Raises:
        TypeError: the session is one of Spark Connect, which has no local JVM.
        MetastoreError: the metastore cannot be reached.

    >>> acidsql.enable(spark)
    >>> spark.createDataFrame([(3, "Kim")], "id INT, name STRING").write.insertInto("pet")
    >>> spark.table("pet").where("id > 1").orderBy("id").collect()
    [Row(id=2, name='Tom'), Row(id=3, name='Kim')]
    >>> acidsql.disable(spark)
    """
    _check_session(spark)
    with working(spark):
        pass  # a metastore that cannot be opened raises its error here
    with _lock:
        spark.conf.set(SETTING, "true")
        _forget_other_applications(spark)
        _enabled.add(bridge.session_key(spark))
        if not _replacements:
            _replacements.extend(_replaced(spark))


def disable(spark: SparkSession) -> None:
    """Restore a session's original methods.

    When no session is enabled, PySpark's classes have their original functions again.

    Raises:
        TypeError: the session is one of Spark Connect, which has no local JVM.

    >>> acidsql.enable(spark)
    >>> spark.catalog.tableExists("pet")
    True
    >>> acidsql.disable(spark)
    >>> spark.catalog.tableExists("pet")
    False
    """
    _check_session(spark)
    with _lock:
        spark.conf.unset(SETTING)
        _forget_other_applications(spark)
        _enabled.discard(bridge.session_key(spark))
        if _enabled:
            return
        while _replacements:
            _put_back(_replacements.pop())


def _check_session(spark: SparkSession) -> None:
    if not isinstance(spark, SparkSession):
        raise TypeError(
            f"{spark!r} is not a pyspark.sql.SparkSession: use a session that is not one of Spark "
            "Connect"
        )


def _forget_other_applications(spark: SparkSession) -> None:
    """Forget the sessions of applications that this process has stopped."""
    prefix = f"{spark.sparkContext.applicationId}/"
    _enabled.intersection_update([key for key in _enabled if key.startswith(prefix)])


def _replaced(spark: SparkSession) -> Iterator[_Replacement]:
    """Replace the methods one by one, and yield each replacement."""
    frames = type(spark.range(0))
    for owner, name, made in (
        (SparkSession, "sql", queries.sql),
        (SparkSession, "table", queries.table),
        (SparkSession, "read", queries.read),
        (SparkSession, "readStream", streams.read_stream),
        (SparkSession, "catalog", catalog_statements.catalog),
        (frames, "write", writers.write),
        (frames, "writeTo", writers.write_to),
        (frames, "writeStream", streams.write_stream),
        (frames, "mergeInto", writers.merge_into),
    ):
        if hasattr(owner, name):  # mergeInto is new in Spark 4.0
            yield _replace(owner, name, made)


def _replace(known_as: type, name: str, made: Callable[[Any], Any]) -> _Replacement:
    owner = next(c for c in known_as.__mro__ if name in vars(c))
    original = vars(owner)[name]
    replacement = made(original)
    setattr(owner, name, replacement)
    return _Replacement(owner=owner, name=name, original=original, replacement=replacement)


def _put_back(one: _Replacement) -> None:
    """Restore a method, unless other code has wrapped ours; then ours passes all calls on."""
    if vars(one.owner).get(one.name) is one.replacement:
        setattr(one.owner, one.name, one.original)
