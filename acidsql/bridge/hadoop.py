"""Hadoop's file systems."""

from __future__ import annotations

import re
from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import JavaObject, java_texts, jvm_class, session_state, simple_name


def hadoop_conf(spark: SparkSession) -> JavaObject:
    """The session's Hadoop configuration, a copy as of now."""
    return session_state(spark).newHadoopConf()


def hadoop_setting(spark: SparkSession, key: str) -> str | None:
    """A setting of the session's Hadoop configuration."""
    value = hadoop_conf(spark).get(key)
    return None if value is None else str(value)


def hadoop_user(spark: SparkSession) -> str:
    """As whom Hadoop works: its login, or HADOOP_USER_NAME."""
    users = jvm_class(spark, "org.apache.hadoop.security.UserGroupInformation")
    return str(users.getCurrentUser().getShortUserName())


def hadoop_path(spark: SparkSession, path: str, conf: JavaObject) -> tuple[JavaObject, JavaObject]:
    """The file system of a path and the qualified path."""
    raw = jvm_class(spark, "org.apache.hadoop.fs.Path")(path)
    filesystem = raw.getFileSystem(conf)
    return filesystem, filesystem.makeQualified(raw)


def list_names(
    spark: SparkSession, filesystem: JavaObject, path: JavaObject
) -> tuple[list[str], JavaObject]:
    """Names in a directory and the Java array of their ``FileStatus``."""
    statuses = filesystem.listStatus(path)
    prefix = str(path.toString()).rstrip("/") + "/"
    return [found[len(prefix) :] for found in _paths(spark, statuses, prefix)], statuses


def list_all(
    spark: SparkSession, filesystem: JavaObject, directories: Sequence[str]
) -> list[tuple[list[str], JavaObject, JavaObject]] | None:
    """Names in each of some directories, its path, and the Java array of their ``FileStatus``.

    A few calls for all of the directories, and two for each.

    Args:
        directories: qualified, without a slash at the end, all of them of this file system.

    Returns:
        None if one of them is missing, or the file system calls it otherwise.
    """
    strings = jvm_class(spark, "org.apache.hadoop.util.StringUtils")
    paths = strings.stringToPath(java_texts(spark, directories))
    try:
        statuses = filesystem.listStatus(paths)
    except Py4JJavaError as error:
        if simple_name(error.java_exception) != "FileNotFoundException":
            raise
        return None
    scheme = directories[0].partition("/")[0] + "/"
    names: dict[str, list[str]] = {directory: [] for directory in directories}
    for found in _paths(spark, statuses, scheme):
        directory, _, name = found.rpartition("/")
        if directory not in names:
            return None
        names[directory].append(name)
    first, listed = 0, []
    for number, own in enumerate(names.values()):
        listed.append((own, paths[number], statuses[first : first + len(own)]))
        first += len(own)
    return listed


def _paths(spark: SparkSession, statuses: JavaObject, prefix: str) -> list[str]:
    """The paths of an array of ``FileStatus``, fetched as one text.

    A getter per file would cost a round trip each. The text is cut before each ``prefix``, with
    which every path begins, and which no name can contain because of its slash.
    """
    text = jvm_class(spark, "scala.runtime.ScalaRunTime").stringOf(
        jvm_class(spark, "org.apache.hadoop.fs.FileUtil").stat2Paths(statuses)
    )
    body = text[len("Array(") : -1]
    return [prefix + rest for rest in body[len(prefix) :].split(", " + prefix)] if body else []


# How Hadoop's file systems write a FileStatus.
_STATUS = re.compile(
    r"path=(?P<path>.*?); isDirectory=(?P<directory>true|false);"
    r"( length=(?P<length>\d+); replication=-?\d+; blocksize=-?\d+;)?"
    r" modification_time=(?P<modified>-?\d+);",
    re.DOTALL,
)


def list_files(
    spark: SparkSession, statuses: JavaObject, names: Sequence[str]
) -> list[tuple[str, int, int]]:
    """(name, bytes, modification time in ms since 1970) of each file of a listing.

    They are fetched as one text. Where that is not understood, they take a few calls per file.

    Args:
        names: all that the listing names, in its order.
    """
    text = jvm_class(spark, "scala.runtime.ScalaRunTime").stringOf(statuses)
    found = list(_STATUS.finditer(str(text)))
    if [status["path"].rpartition("/")[2] for status in found] == list(names):
        return [
            (name, int(status["length"]), int(status["modified"]))
            for name, status in zip(names, found, strict=True)
            if status["directory"] == "false"
        ]
    files = [status for status in statuses if status.isFile()]
    return [(s.getPath().getName(), s.getLen(), s.getModificationTime()) for s in files]


def read_bytes(
    spark: SparkSession, filesystem: JavaObject, path: JavaObject, start: int, length: int
) -> bytes:
    """``length`` bytes of a file from ``start``."""
    stream = filesystem.open(path)
    try:
        stream.seek(start)
        return bytes(jvm_class(spark, "org.apache.commons.io.IOUtils").toByteArray(stream, length))
    finally:
        stream.close()


def write_bytes(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    """Create a file (it must not exist) with this content."""
    stream = filesystem.create(path, False)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


def append_bytes(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    """Append to a file, on file systems that can."""
    stream = filesystem.append(path)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


def copy_file(
    spark: SparkSession,
    source: tuple[JavaObject, JavaObject],
    target: tuple[JavaObject, JavaObject],
    length: int | None = None,
) -> None:
    """Copy a file, or so many bytes of it; both are given with their file systems."""
    if length is None:
        files = jvm_class(spark, "org.apache.hadoop.fs.FileUtil")
        files.copy(*source, *target, False, False, source[0].getConf())
        return
    stream = source[0].open(source[1])
    try:
        copied = target[0].create(target[1], False)
        try:
            streams = jvm_class(spark, "org.apache.commons.io.IOUtils")
            streams.copyLarge(stream, copied, 0, length)
        finally:
            copied.close()
    finally:
        stream.close()


def assemble_file(
    spark: SparkSession,
    target: tuple[JavaObject, JavaObject],
    head: bytes,
    parts: Sequence[tuple[JavaObject, JavaObject, int, int]],
    tail: bytes,
) -> None:
    """Create a file of some bytes, then parts of other files, then more bytes.

    Args:
        target: its file system and path; it must not exist.
        parts: of each the file system, path, first byte and number of bytes.
    """
    streams = jvm_class(spark, "org.apache.commons.io.IOUtils")
    written = target[0].create(target[1], False)
    try:
        written.write(bytearray(head))
        for filesystem, path, start, length in parts:
            read = filesystem.open(path)
            try:
                read.seek(start)
                streams.copyLarge(read, written, 0, length)
            finally:
                read.close()
        written.write(bytearray(tail))
    finally:
        written.close()


def delete_if_empty(filesystem: JavaObject, path: JavaObject) -> bool:
    """Delete a directory unless something is in it; whether it is gone."""
    if filesystem.exists(path) and len(filesystem.listStatus(path)) > 0:
        return False
    try:
        filesystem.delete(path, False)
    except Py4JJavaError:
        if filesystem.exists(path) and len(filesystem.listStatus(path)) > 0:
            return False
        raise
    return True
