"""Operations of Hadoop's file systems on object stores that save requests."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.hadoop import ListedPath, listed_paths, new_file, os_errors
from acidsql.bridge.jvm import JavaObject, jvm_class, simple_name


@os_errors
def has_path_capability(filesystem: JavaObject, path: JavaObject, capability: str) -> bool:
    """Return whether a file system reports a capability at a path.

    Hadoop's ``CommonPathCapabilities`` names the capabilities.
    """
    return bool(filesystem.hasPathCapability(path, capability))


@os_errors
def put_bytes(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    """Create or replace a file with this content; its path must not be a directory.

    S3A then sends no request to the store before it writes.
    """
    stream = new_file(filesystem, path)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


@os_errors
def read_bytes_of(
    spark: SparkSession,
    filesystem: JavaObject,
    path: JavaObject,
    start: int,
    length: int,
    size: int,
) -> bytes:
    """Read ``length`` bytes of a file of a known size, without a request for the size."""
    stream = _open_sized(filesystem, path, size)
    try:
        stream.seek(start)
        return bytes(jvm_class(spark, "org.apache.commons.io.IOUtils").toByteArray(stream, length))
    finally:
        stream.close()


def _open_sized(filesystem: JavaObject, path: JavaObject, size: int) -> JavaObject:
    """Open a file of a known size for reading."""
    builder = filesystem.openFile(path).opt("fs.option.openfile.length", str(size))
    return builder.build().get()


@os_errors
def put_copy(
    spark: SparkSession,
    source: tuple[JavaObject, JavaObject],
    length: int,
    rest: bytes,
    target: tuple[JavaObject, JavaObject],
) -> None:
    """Create or replace a file with the content of another file and more bytes.

    Args:
        spark: the session.
        source: file system and path of the other file.
        length: length of the other file in bytes.
        rest: the bytes that follow.
        target: file system and path of the new file. The path must not be a directory.
    """
    written = new_file(*target)
    try:
        read = _open_sized(*source, length)
        try:
            jvm_class(spark, "org.apache.commons.io.IOUtils").copyLarge(read, written, 0, length)
        finally:
            read.close()
        written.write(bytearray(rest))
    finally:
        written.close()


@os_errors
def list_tree(
    spark: SparkSession, filesystem: JavaObject, directory: JavaObject
) -> list[ListedPath] | None:
    """List all files below a directory; return None if it is missing.

    An object store needs one request for many files, regardless of the number of directories.

    Raises:
        OSError: the listing failed for another reason.
    """
    iterators = jvm_class(spark, "org.apache.hadoop.util.functional.RemoteIterators")
    try:
        statuses = iterators.toList(filesystem.listFiles(directory, True))
    except Py4JJavaError as error:
        if simple_name(error.java_exception) != "FileNotFoundException":
            raise
        return None
    return listed_paths(statuses, str(statuses.toString()))
