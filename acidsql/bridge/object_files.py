"""Hadoop's file systems over object stores: fewer requests than their usual operations make."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.hadoop import FoundPath, found_paths, new_file, os_errors
from acidsql.bridge.jvm import JavaObject, jvm_class, simple_name


@os_errors
def has_path_capability(filesystem: JavaObject, path: JavaObject, capability: str) -> bool:
    """Return whether a file system says that it has a capability at a path (Hadoop:
    ``CommonPathCapabilities``).
    """
    return bool(filesystem.hasPathCapability(path, capability))


@os_errors
def put_bytes(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    """Create a file with this content, or replace one; no directory may have its path.

    S3A then asks nothing of the store before it writes.
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
    """Read ``length`` bytes of a file of a known size; an object store is not queried for it."""
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
    """Create a file of another one and more bytes, or replace one; no directory may have its path.

    Args:
        source: file system and path of the other file.
        length: of the other file, in bytes.
        rest: the bytes that follow.
        target: file system and path of the new file.
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
) -> list[FoundPath] | None:
    """List all files below a directory; return None if it is missing.

    An object store needs one request for many files, however many directories they are in.

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
    return found_paths(statuses, str(statuses.toString()))
