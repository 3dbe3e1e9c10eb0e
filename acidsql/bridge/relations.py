"""Spark's scan of ORC files whose directories were listed already."""

from __future__ import annotations

import gc
import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.file_splits import even_share
from acidsql.bridge.jvm import (
    SOURCES,
    JavaObject,
    cloned_session,
    java_type,
    jvm_class,
    scala_map,
    scala_object,
    scala_seq,
)
from acidsql.bridge.unresolved_plan import UnresolvedPlan
from acidsql.format.protobuf import write_integer, write_octets

# SQL of the ordinal (``ScanFile``) of a row's file, in a scan.
FILE_ORDINAL = "CAST(unix_millis(_metadata.file_modification_time) AS INT)"
_UNBOUNDED = 2**62  # bytes
_NEVER_LISTED = "_acidsql_snapshot"
_TASK_BYTES = "spark.sql.files.maxPartitionBytes"
_BATCHES = ("spark.sql.orc.enableVectorizedReader", "spark.sql.codegen.wholeStage")


class ScanFile(NamedTuple):
    """A file to scan.

    Attributes:
        path: qualified.
        size: in bytes.
        ordinal: a number that every row of it carries, as its file modification time.
    """

    path: str
    size: int
    ordinal: int = 0


@dataclass(frozen=True)
class Relation:
    """A scan, and its file index: while any plan can reach the index, it can run."""

    rows: UnresolvedPlan
    index: JavaObject


_STATUS = "org.apache.hadoop.fs.FileStatus"
# Fields of Hadoop's FileStatusProto, and its type of files.
_TYPE, _PATH, _SIZE, _MODIFIED = 1, 2, 3, 7
_IS_FILE = 2


def _statuses(spark: SparkSession, files: Sequence[ScanFile]) -> JavaObject:
    """A Java array of ``FileStatus``, handed over as one text of bytes (``ObjectWritable``): each
    would take some calls.
    """
    head = 2 * _utf(_STATUS)  # the declared class and that of the object
    parts = [_utf(f"[L{_STATUS};"), struct.pack(">i", len(files))]
    for file in files:
        message = (
            write_integer(_TYPE, _IS_FILE)
            + write_octets(_PATH, file.path.encode())
            + write_integer(_SIZE, file.size)
            + write_integer(_MODIFIED, file.ordinal)
        )
        parts += [head, struct.pack(">i", len(message)), message]
    stream = jvm_class(spark, "java.io.ByteArrayInputStream")(b"".join(parts))
    data = jvm_class(spark, "java.io.DataInputStream")(stream)
    conf = jvm_class(spark, "org.apache.hadoop.conf.Configuration")(False)
    return jvm_class(spark, "org.apache.hadoop.io.ObjectWritable").readObject(data, conf)


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def _root(files: Sequence[ScanFile]) -> str:
    """The path under which a file index has all files: below their directories, so that nobody
    takes it for one that may be listed.

    Spark takes two scans for one, and runs one of them, if the paths of their indexes are the same:
    other files, or the same with other ordinals, have another path.
    """
    ordered = sorted(files)
    first, last = (found.path.split("/")[:-1] for found in (ordered[0], ordered[-1]))
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    common = [part for part, _ in same]
    of_file_system = 3 if "" in first else 1  # "hdfs:", "" and the authority, or "file:"
    text = "\n".join(f"{file.path}\t{file.size}\t{file.ordinal}" for file in ordered)
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    parent = common if len(common) > of_file_system else first
    return "/".join([*parent, f"{_NEVER_LISTED}_{digest}"])


def orc_relation(
    spark: SparkSession,
    files: Sequence[ScanFile],
    schema: StructType,
    options: Mapping[str, str],
    split_bytes: int | None = None,
    *,
    batches: bool | None = None,
) -> Relation:
    """A scan of some files, through Spark's own ORC file format.

    They are handed over in a file status cache, so that nothing is listed. The format class is
    named, so that settings of the session (``spark.sql.orc.impl``, V2 sources) cannot choose
    another reader.

    Args:
        split_bytes: files are split at multiples of so many bytes, and each split is a partition
            of the scan; None leaves it to ``file_scan``.
        batches: whether Spark reads in batches, whatever the settings of the session are when the
            scan runs; None leaves it to them.
    """
    settings: dict[str, str | None] = {}
    if split_bytes is not None:
        # Opening a file counts as much as a whole split, so that no two splits share a partition.
        for key in (_TASK_BYTES, "spark.sql.files.openCostInBytes"):
            settings[key] = str(split_bytes)
        settings["spark.sql.files.maxPartitionNum"] = None
    if batches is not None:
        for key in ("spark.sql.orc.enableNestedColumnVectorizedReader", *_BATCHES * batches):
            settings[key] = str(batches).lower()
    return file_scan(spark, files, schema, options, settings=settings)


def file_scan(
    spark: SparkSession,
    files: Sequence[ScanFile],
    schema: StructType,
    options: Mapping[str, str],
    file_format: str = "orc.OrcFileFormat",
    settings: Mapping[str, str | None] | None = None,
) -> Relation:
    """A scan of some files, shared out evenly among tasks.

    Args:
        settings: of the session for this scan, None to unset one; the other arguments are those of
            ``file_relation``.
    """
    changed = dict(settings or {})
    if _TASK_BYTES not in changed:
        share = even_share(spark, [file.size for file in files])
        if share is not None:
            changed[_TASK_BYTES] = str(share)
    session = cloned_session(spark, changed) if changed else None
    relation, index = file_relation(
        spark, files, schema, options, StructType([]), session, file_format
    )
    return Relation(rows=rows_of(spark, relation), index=index)


def rows_of(spark: SparkSession, relation: JavaObject) -> UnresolvedPlan:
    """The rows of a ``HadoopFsRelation``."""
    plan = scala_object(spark, f"{SOURCES}.LogicalRelation").apply(relation, False)
    return UnresolvedPlan(spark, plan)


def file_relation(
    spark: SparkSession,
    files: Sequence[ScanFile],
    schema: StructType,
    options: Mapping[str, str],
    partitions: StructType,
    session: JavaObject = None,
    file_format: str = "orc.OrcFileFormat",
) -> tuple[JavaObject, JavaObject]:
    """A ``HadoopFsRelation`` and its file index.

    Args:
        session: the Java session whose settings rule the scan, by default that of ``spark``.
        file_format: class of the format, below Spark's package of data sources.
    """
    session = session or spark._jsparkSession
    # Spark's shared cache may be switched off, or push a listing out before the index takes it.
    cache = jvm_class(spark, f"{SOURCES}.SharedInMemoryCache")(_UNBOUNDED, -1).createForNewClient()
    roots = [jvm_class(spark, "org.apache.hadoop.fs.Path")(_root(files))] if files else []
    for root in roots:
        cache.putLeafFiles(root, _statuses(spark, files))
    nothing = scala_object(spark, "scala.None")
    index = jvm_class(spark, f"{SOURCES}.InMemoryFileIndex")(
        session,
        scala_seq(spark, roots),
        # The files of a root are all that it has, wherever they lie.
        scala_map(spark, [("recursiveFileLookup", "true")]),
        jvm_class(spark, "scala.Some")(java_type(spark, schema)),
        cache,
        nothing,
        nothing,
    )
    relation = jvm_class(spark, f"{SOURCES}.HadoopFsRelation")(
        index,
        java_type(spark, partitions),
        java_type(spark, schema),
        nothing,
        jvm_class(spark, f"{SOURCES}.{file_format}")(),
        scala_map(spark, list(options.items())),
        session,
    )
    return relation, index


class Watch:
    """Which file indexes plans can still reach."""

    def __init__(self, spark: SparkSession) -> None:
        self._weak = jvm_class(spark, "java.lang.ref.WeakReference")
        self._collected = jvm_class(spark, "java.lang.ref.ReferenceQueue")()

    def reference(self, index: JavaObject) -> JavaObject:
        """A weak reference to a file index."""
        return self._weak(index, self._collected)

    def found_unreachable(self) -> bool:
        """Whether the JVM has collected any of the indexes since it was asked last."""
        found = False
        while self._collected.poll() is not None:
            found = True
        return found


def reachable(reference: JavaObject) -> bool:
    """Whether any plan can still reach the file index behind this weak reference."""
    return reference.get() is not None


def collect_garbage(spark: SparkSession) -> None:
    """Ask Python and the JVM to find unreachable objects now."""
    gc.collect()
    _drop_dead_proxies(spark)
    jvm_class(spark, "java.lang.System").gc()


def _drop_dead_proxies(spark: SparkSession) -> None:
    """Have the JVM forget the objects whose Python proxies are gone.

    py4j's worker does the same, once a second: too late for a collection that follows at once.
    """
    pending = getattr(spark.sparkContext._gateway._gateway_client, "finalizer_deque", ())
    while pending:
        try:
            task = pending.pop()
        except IndexError:  # the worker was faster
            return
        if not isinstance(task, tuple):  # the order to the worker to end
            pending.append(task)
            return
        client, target_id = task
        client.garbage_collect_object(target_id, False)
