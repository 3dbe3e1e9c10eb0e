"""Hadoop's file systems, with their settings and user."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import JavaObject, java_strings, jvm_class, same, session_state, simple_name
from acidsql.errors import MetastoreError

# Setting of a new file that makes S3A skip its checks for an existing file or directory (3.3.5).
_NO_CHECKS = "fs.s3a.create.performance"
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def os_errors(call: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a function so that it raises Java exceptions as ``OSError``."""

    @wraps(call)
    def converted(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return call(*args, **kwargs)
        except Py4JJavaError as error:
            java = error.java_exception
            missing = simple_name(java) == "FileNotFoundException"
            raise (FileNotFoundError if missing else OSError)(str(java.toString())) from error
        except PySparkException as error:  # PySpark converts some Java exceptions
            raise OSError(str(error)) from error

    return converted


def hadoop_conf(spark: SparkSession) -> JavaObject:
    """Return a new copy of the session's Hadoop ``Configuration``."""
    return session_state(spark).newHadoopConf()


def hadoop_setting(spark: SparkSession, key: str) -> str | None:
    """Return a value of the session's Hadoop configuration, or None if it is not set."""
    value = hadoop_conf(spark).get(key)
    return None if value is None else str(value)


def hadoop_user(spark: SparkSession) -> str:
    """Return the short name of Hadoop's user: the login, or HADOOP_USER_NAME."""
    users = jvm_class(spark, "org.apache.hadoop.security.UserGroupInformation")
    return str(users.getCurrentUser().getShortUserName())


def hadoop_tokens(spark: SparkSession) -> list[str]:
    """Return the delegation tokens of Hadoop's user as texts (``encodeToUrlString``).

    They are the tokens that Spark has obtained, and those in ``HADOOP_TOKEN_FILE_LOCATION``.

    Raises:
        MetastoreError: METASTORE_AUTHENTICATION, the JVM no longer answers.
    """
    try:
        users = jvm_class(spark, "org.apache.hadoop.security.UserGroupInformation")
        tokens = jvm_class(spark, "java.util.ArrayList")(users.getCurrentUser().getTokens())
        return [str(token.encodeToUrlString()) for token in tokens]
    except (Py4JError, OSError) as error:
        raise MetastoreError(
            "METASTORE_AUTHENTICATION",
            f"the delegation tokens of Hadoop's user cannot be read ({error}): Spark may have been "
            "stopped",
        ) from error


def hadoop_path(spark: SparkSession, path: str, conf: JavaObject) -> tuple[JavaObject, JavaObject]:
    """Return the ``FileSystem`` of a path and the qualified ``Path``."""
    raw = jvm_class(spark, "org.apache.hadoop.fs.Path")(path)
    filesystem = raw.getFileSystem(conf)
    return filesystem, filesystem.makeQualified(raw)


@os_errors
def qualified_path(spark: SparkSession, path: str, conf: JavaObject) -> str:
    """Return a path with its scheme and authority.

    Raises:
        OSError: the text is not a path, or no file system has its scheme.
    """
    return path_text(hadoop_path(spark, path, conf)[1])


# Text of ``FileStatus.toString``.
_STATUS = re.compile(
    r"path=(?P<path>.*?); isDirectory=(?P<directory>true|false);"
    r"( length=(?P<length>\d+); replication=-?\d+; blocksize=-?\d+;)?"
    r" modification_time=(?P<modified>-?\d+);",
    re.DOTALL,
)


class ListedPath(NamedTuple):
    """File or directory of a listing.

    Attributes:
        path: qualified path, spelled as by the file system.
        size: size in bytes; 0 for a directory.
        modified: milliseconds since 1970.
    """

    path: str
    is_directory: bool
    size: int
    modified: int


@os_errors
def list_paths(
    spark: SparkSession, filesystem: JavaObject, directories: Sequence[str]
) -> list[ListedPath] | None:
    """List the children of directories in one file system; return None if a directory is missing.

    All statuses are fetched as one text, with few calls into the JVM. If that text cannot be parsed
    safely, each child takes several calls.

    Raises:
        OSError: the listing failed for another reason.
    """
    strings = jvm_class(spark, "org.apache.hadoop.util.StringUtils")
    try:
        statuses = filesystem.listStatus(strings.stringToPath(java_strings(spark, directories)))
    except Py4JJavaError as error:
        if simple_name(error.java_exception) != "FileNotFoundException":
            raise
        return None
    text = str(jvm_class(spark, "scala.runtime.ScalaRunTime").stringOf(statuses))
    return listed_paths(statuses, text)


def listed_paths(statuses: JavaObject, text: str) -> list[ListedPath]:
    """Return the files and directories of a listing, whose statuses are also in ``text``."""
    matches = list(_STATUS.finditer(text))
    # A file name that looks like a part of this text can mislead the pattern. A status that wraps
    # another status, as in viewfs, shows no path in its text.
    is_known = all(match["path"] != "null" for match in matches)
    if not is_known or not len(matches) == text.count("isDirectory=") == len(statuses):
        return [
            ListedPath(
                str(status.getPath().toString()),
                bool(status.isDirectory()),
                int(status.getLen()),
                int(status.getModificationTime()),
            )
            for status in statuses
        ]
    return [
        ListedPath(
            match["path"],
            match["directory"] == "true",
            int(match["length"] or 0),
            int(match["modified"]),
        )
        for match in matches
    ]


def path_text(path: JavaObject) -> str:
    """Return a path as Hadoop spells it."""
    return str(path.toString())


@os_errors
def path_exists(filesystem: JavaObject, path: JavaObject) -> bool:
    """Return whether a file or directory exists."""
    return bool(filesystem.exists(path))


@os_errors
def is_directory(filesystem: JavaObject, path: JavaObject) -> bool:
    """Return whether a path is an existing directory."""
    return bool(filesystem.exists(path)) and bool(filesystem.getFileStatus(path).isDirectory())


def is_same_file_system(one: JavaObject, other: JavaObject) -> bool:
    """Return whether two file systems have the same URI."""
    return same(one.getUri(), other.getUri())


@os_errors
def file_size(filesystem: JavaObject, path: JavaObject) -> int:
    """Return the size of a file in bytes."""
    return int(filesystem.getFileStatus(path).getLen())


@os_errors
def make_directories(filesystem: JavaObject, path: JavaObject) -> None:
    """Create a directory and its parents, unless they exist."""
    filesystem.mkdirs(path)


@os_errors
def rename_path(filesystem: JavaObject, source: JavaObject, target: JavaObject) -> bool:
    """Rename a file or directory, and create the parents of the target.

    Returns:
        False if the file system refused.
    """
    filesystem.mkdirs(target.getParent())
    return bool(filesystem.rename(source, target))


@os_errors
def rename_below(filesystem: JavaObject, source: JavaObject, target: JavaObject) -> bool:
    """Rename a file or directory to a name below an existing directory.

    Returns:
        False if the file system refused, for example because the source or the directory is
        missing.
    """
    try:
        return bool(filesystem.rename(source, target))
    except Py4JJavaError as error:
        if simple_name(error.java_exception) != "FileNotFoundException":
            raise
        return False


@os_errors
def replace_path(
    spark: SparkSession, source: tuple[JavaObject, JavaObject], target: JavaObject
) -> None:
    """Rename a file so that it replaces another file.

    Args:
        spark: the session.
        source: file system and path of the file.
        target: path of the other file, on the same file system.
    """
    filesystem, path = source
    contexts = jvm_class(spark, "org.apache.hadoop.fs.FileContext")
    context = contexts.getFileContext(filesystem.getUri(), filesystem.getConf())
    rename = jvm_class(spark, "org.apache.hadoop.fs.Options$Rename")
    options = spark.sparkContext._gateway.new_array(rename, 1)
    options[0] = rename.OVERWRITE
    context.rename(path, target, options)


def new_file(filesystem: JavaObject, path: JavaObject) -> JavaObject:
    """Open a new file for writing; it replaces an existing file."""
    builder = filesystem.createFile(path).recursive().overwrite(True)
    return builder.opt(_NO_CHECKS, "true").build()


@os_errors
def delete_path(filesystem: JavaObject, path: JavaObject) -> None:
    """Delete a file, or a directory with its contents."""
    filesystem.delete(path, True)


@os_errors
def read_bytes(
    spark: SparkSession, filesystem: JavaObject, path: JavaObject, start: int, length: int
) -> bytes:
    """Read ``length`` bytes of a file from offset ``start``."""
    stream = filesystem.open(path)
    try:
        stream.seek(start)
        return bytes(jvm_class(spark, "org.apache.commons.io.IOUtils").toByteArray(stream, length))
    finally:
        stream.close()


@os_errors
def write_bytes(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    """Create a file with this content; the file must not exist yet."""
    stream = filesystem.create(path, False)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


@os_errors
def append_bytes(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    """Append to a file, if the file system supports it."""
    stream = filesystem.append(path)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


@os_errors
def copy_file(
    spark: SparkSession,
    source: tuple[JavaObject, JavaObject],
    target: tuple[JavaObject, JavaObject],
) -> None:
    """Copy a file to a new file, each given by its file system and path."""
    files = jvm_class(spark, "org.apache.hadoop.fs.FileUtil")
    files.copy(*source, *target, False, False, source[0].getConf())


@os_errors
def assemble_file(
    spark: SparkSession,
    target: tuple[JavaObject, JavaObject],
    head: bytes,
    parts: Sequence[tuple[JavaObject, JavaObject, int, int]],
    tail: bytes,
    *,
    put: bool,
) -> None:
    """Create a file from a head, parts of other files, and a tail.

    Args:
        spark: the session.
        target: file system and path of the new file, which must not exist.
        head: first bytes.
        parts: for each part, its file system, path, first byte and number of bytes.
        tail: last bytes.
        put: whether to create the file like ``put_bytes``.
    """
    streams = jvm_class(spark, "org.apache.commons.io.IOUtils")
    written = new_file(*target) if put else target[0].create(target[1], False)
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


@os_errors
def delete_if_empty(filesystem: JavaObject, path: JavaObject) -> bool:
    """Delete a directory unless it has children; return whether it no longer exists."""
    if filesystem.exists(path) and len(filesystem.listStatus(path)) > 0:
        return False
    try:
        filesystem.delete(path, False)
    except Py4JJavaError:
        if filesystem.exists(path) and len(filesystem.listStatus(path)) > 0:
            return False
        raise
    return True
