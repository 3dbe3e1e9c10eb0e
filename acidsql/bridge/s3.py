"""Requests to S3 that S3A's file system does not offer.

They create a file from part of another file and more bytes, and find unfinished uploads. They use
the file system's client, with its credentials, encryption and retries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from acidsql.bridge import s3_uploads
from acidsql.bridge.hadoop import os_errors
from acidsql.bridge.jvm import JavaObject, jvm_class, simple_name

_STREAM = "fs.s3a.input.stream.type"
_MIB = 1024 * 1024
# S3's rule: all parts of an upload except the last have 5 MiB to 5 GiB.
LEAST_PART = 5 * _MIB
_COPIED_PART = 512 * _MIB
# With customer-provided keys or client-side encryption, the bytes must pass through the client.
_NOT_COPIED = ("SSE_C", "CSE_KMS", "CSE_CUSTOM")


class Upload(NamedTuple):
    """Unfinished multipart upload: the path of its file, and the id of the upload."""

    path: str
    upload_id: str


def read_anew(spark: SparkSession, conf: JavaObject) -> None:
    """Make S3A read the current version of each file, in this session and its tasks.

    From Hadoop 3.5 on, S3A's default stream caches sizes and contents of files by path in each JVM.
    For a table that was dropped and created again, it would read the old files.

    Args:
        spark: the session.
        conf: Hadoop configuration of the file systems.
    """
    if conf.get(_STREAM) in (None, "default", "analytics"):
        for settings in (spark.conf, conf):
            settings.set(_STREAM, "classic")


def can_copy_parts(filesystem: JavaObject) -> bool:
    """Return whether a file system is S3A with a client that can copy parts of objects."""
    if simple_name(filesystem) != "S3AFileSystem":
        return False
    if s3_uploads.has_version_2(filesystem):
        if not filesystem.getS3AInternals().isMultipartCopyEnabled():
            return False
    elif not s3_uploads.gives_version_1(filesystem):
        return False
    return str(filesystem.getS3EncryptionAlgorithm().name()) not in _NOT_COPIED


def part_ranges(length: int, most: int = _COPIED_PART) -> Iterator[tuple[int, int]]:
    """Yield the first and last byte of parts of about equal size.

    Args:
        length: number of bytes, not less than ``LEAST_PART``.
        most: largest size of a part, at least twice ``LEAST_PART``.
    """
    number = -(-length // most)
    for start, end in pairwise(length * i // number for i in range(number + 1)):
        yield start, end - 1


@os_errors
def copy_with_rest(
    spark: SparkSession,
    filesystem: JavaObject,
    source: JavaObject,
    length: int,
    rest: bytes,
    target: JavaObject,
) -> None:
    """Write an object from the beginning of another object, which S3 copies, and more bytes.

    Args:
        spark: the session.
        filesystem: S3A file system for which ``can_copy_parts`` is true.
        source: path of the other object, in the same bucket.
        length: number of bytes to copy, at least ``LEAST_PART``.
        rest: the bytes that follow.
        target: path of the new object, which replaces an existing object.
    """
    upload = s3_uploads.begin(spark, filesystem, _key(target))
    try:
        number = 0
        for number, (first, last) in enumerate(part_ranges(length), 1):
            upload.copy(_key(source), number, first, last)
        if rest:
            upload.send(number + 1, rest)
        upload.complete()
    except BaseException:
        upload.abort()
        raise


def _key(path: JavaObject) -> str:
    return str(path.toUri().getPath()).lstrip("/")


@os_errors
def uploads_below(filesystem: JavaObject, directory: JavaObject) -> Sequence[Upload]:
    """Return the unfinished uploads to a directory of S3A; other file systems have none."""
    if simple_name(filesystem) != "S3AFileSystem":
        return ()
    above = str(directory.toString()).removesuffix(str(directory.toUri().getPath()))
    uploads = filesystem.listMultipartUploads(f"{_key(directory)}/")
    return [Upload(f"{above}/{key}", upload_id) for key, upload_id in map(_key_and_id, uploads)]


def _key_and_id(upload: JavaObject) -> tuple[str, str]:
    try:
        return str(upload.key()), str(upload.uploadId())
    except Py4JError:  # before Hadoop 3.4
        return str(upload.getKey()), str(upload.getUploadId())


@os_errors
def abort_upload(filesystem: JavaObject, path: JavaObject, upload_id: str) -> None:
    """Abort an upload, so that S3 removes its parts."""
    s3_uploads.abort(filesystem, _key(path), upload_id)


def can_delete_many(filesystem: JavaObject) -> bool:
    """Return whether a file system is S3A and can delete many files with one request."""
    if simple_name(filesystem) != "S3AFileSystem":
        return False
    try:
        filesystem.createBulkDelete(filesystem.getWorkingDirectory()).close()
    except (Py4JError, AttributeError):  # before Hadoop 3.4.1
        return False
    return True


@os_errors
def delete_many(spark: SparkSession, filesystem: JavaObject, files: Sequence[str]) -> None:
    """Delete files of S3A; missing files are ignored.

    Raises:
        OSError: a file could not be deleted.
    """
    paths = jvm_class(spark, "org.apache.hadoop.fs.Path")
    deletion = filesystem.createBulkDelete(paths(f"{filesystem.getUri().toString()}/"))
    try:
        page_size = int(deletion.pageSize())
        for first in range(0, len(files), page_size):
            page = jvm_class(spark, "java.util.ArrayList")()
            for file in files[first : first + page_size]:
                page.add(paths(file))
            failed = deletion.bulkDelete(page)
            if failed:
                raise OSError(f"S3 did not delete {failed[0].toString()}, of {len(failed)} files")
    finally:
        deletion.close()
