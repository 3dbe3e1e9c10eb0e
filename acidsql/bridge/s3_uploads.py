"""Multipart uploads that copy parts of another object, through S3A's own client.

Hadoop 3.4 and later use version 2 of Amazon's client, and earlier releases use version 1. Both
give access to it, earlier releases by a method "for testing". Their other methods copy only whole
objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import JavaObject, jvm_class

_S3A = "org.apache.hadoop.fs.s3a"
_MODEL_1 = "com.amazonaws.services.s3.model"
_MODEL_2 = "software.amazon.awssdk.services.s3.model"
_WHY = "acidsql writes a file's tail"


class Multipart(Protocol):
    """Upload in progress. Part numbers begin at 1."""

    def copy(self, source: str, number: int, first: int, last: int) -> None:
        """Add a part that S3 copies from another object of the bucket.

        Args:
            source: key of the other object.
            number: number of the part.
            first: position of the first byte.
            last: position of the last byte.
        """

    def send(self, number: int, content: bytes) -> None:
        """Add a part with this content, at least one byte."""

    def complete(self) -> None:
        """Make the object from its parts, in the order of their addition."""

    def abort(self) -> None:
        """Abort the upload, so that S3 removes its parts."""


def begin(spark: SparkSession, filesystem: JavaObject, key: str) -> Multipart:
    """Begin an upload to S3A."""
    kind = Multipart2 if has_version_2(filesystem) else Multipart1
    return kind.begun(spark, filesystem, key)


def has_version_2(filesystem: JavaObject) -> bool:
    """Return whether S3A uses version 2 of Amazon's client."""
    try:
        filesystem.getS3AInternals()
    except Py4JError:  # before Hadoop 3.4
        return False
    return True


def gives_version_1(filesystem: JavaObject) -> bool:
    """Return whether S3A gives access to version 1 of Amazon's client and builds its requests."""
    try:
        filesystem.getAmazonS3ClientForTesting(_WHY)
        filesystem.getRequestFactory()
    except Py4JError:  # before Hadoop 3.3.2
        return False
    return True


def abort(filesystem: JavaObject, key: str, upload_id: str) -> None:
    """Abort an upload, which any process can have begun."""
    factory = filesystem.getRequestFactory()
    if has_version_2(filesystem):
        client = filesystem.getS3AInternals().getAmazonS3Client(_WHY)
        client.abortMultipartUpload(
            factory.newAbortMultipartUploadRequestBuilder(key, upload_id).build()
        )
    else:
        client = filesystem.getAmazonS3ClientForTesting(_WHY)
        client.abortMultipartUpload(factory.newAbortMultipartUploadRequest(key, upload_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """Parameters that all requests of an upload have in common.

    Attributes:
        client: Amazon's client.
        factory: S3A's factory of requests, which adds its encryption and ACL.
        tags: Java list of the tags of all parts.
    """

    spark: SparkSession
    filesystem: JavaObject
    client: JavaObject
    factory: JavaObject
    key: str
    upload_id: str
    tags: JavaObject

    def abort(self) -> None:
        """Abort the upload, so that S3 removes its parts."""
        abort(self.filesystem, self.key, self.upload_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Multipart2(_Begun):
    """Upload through version 2 of Amazon's client."""

    options: JavaObject

    @classmethod
    def begun(cls, spark: SparkSession, filesystem: JavaObject, key: str) -> Multipart2:
        """Begin an upload."""
        client = filesystem.getS3AInternals().getAmazonS3Client(_WHY)
        factory = filesystem.getRequestFactory()
        options = _put_options(spark)
        begun = factory.newMultipartUploadRequestBuilder(key, options).build()
        return cls(
            spark=spark,
            filesystem=filesystem,
            client=client,
            factory=factory,
            key=key,
            upload_id=str(client.createMultipartUpload(begun).uploadId()),
            tags=jvm_class(spark, "java.util.ArrayList")(),
            options=options,
        )

    def copy(self, source: str, number: int, first: int, last: int) -> None:
        """Add a part that S3 copies from another object of the bucket."""
        bucket = str(self.filesystem.getBucket())
        request = jvm_class(self.spark, f"{_MODEL_2}.UploadPartCopyRequest").builder()
        request = request.sourceBucket(bucket).sourceKey(source)
        request = request.destinationBucket(bucket).destinationKey(self.key)
        request = request.uploadId(self.upload_id).partNumber(number)
        copied = self.client.uploadPartCopy(
            request.copySourceRange(f"bytes={first}-{last}").build()
        )
        self._add(number, str(copied.copyPartResult().eTag()))

    def send(self, number: int, content: bytes) -> None:
        """Add a part with this content."""
        request = self.factory.newUploadPartRequestBuilder(
            self.key, self.upload_id, number, True, len(content)
        )
        bodies = jvm_class(self.spark, "software.amazon.awssdk.core.sync.RequestBody")
        sent = self.client.uploadPart(request.build(), bodies.fromBytes(bytearray(content)))
        self._add(number, str(sent.eTag()))

    def _add(self, number: int, tag: str) -> None:
        part = jvm_class(self.spark, f"{_MODEL_2}.CompletedPart").builder()
        self.tags.add(part.partNumber(number).eTag(tag).build())

    def complete(self) -> None:
        """Make the object from its parts."""
        request = self.factory.newCompleteMultipartUploadRequestBuilder(
            self.key, self.upload_id, self.tags, self.options
        )
        self.client.completeMultipartUpload(request.build())


def _put_options(spark: SparkSession) -> JavaObject:
    options = jvm_class(spark, f"{_S3A}.impl.PutObjectOptions")
    try:
        return options.defaultOptions()
    except Py4JError:  # before Hadoop 3.5
        return options.keepingDirs()


@dataclass(frozen=True, slots=True, kw_only=True)
class Multipart1(_Begun):
    """Upload through version 1 of Amazon's client."""

    @classmethod
    def begun(cls, spark: SparkSession, filesystem: JavaObject, key: str) -> Multipart1:
        """Begin an upload."""
        client = filesystem.getAmazonS3ClientForTesting(_WHY)
        factory = filesystem.getRequestFactory()
        begun = client.initiateMultipartUpload(factory.newMultipartUploadRequest(key))
        return cls(
            spark=spark,
            filesystem=filesystem,
            client=client,
            factory=factory,
            key=key,
            upload_id=str(begun.getUploadId()),
            tags=jvm_class(spark, "java.util.ArrayList")(),
        )

    def copy(self, source: str, number: int, first: int, last: int) -> None:
        """Add a part that S3 copies from another object of the bucket."""
        bucket = str(self.filesystem.getBucket())
        request = jvm_class(self.spark, f"{_MODEL_1}.CopyPartRequest")()
        request.setSourceBucketName(bucket)
        request.setSourceKey(source)
        request.setDestinationBucketName(bucket)
        request.setDestinationKey(self.key)
        request.setUploadId(self.upload_id)
        request.setPartNumber(number)
        request.setFirstByte(first)
        request.setLastByte(last)
        self.tags.add(self.client.copyPart(request).getPartETag())

    def send(self, number: int, content: bytes) -> None:
        """Add a part with this content."""
        streams = jvm_class(self.spark, "java.io.ByteArrayInputStream")
        request = self.factory.newUploadPartRequest(
            self.key, self.upload_id, number, len(content), streams(bytearray(content)), None, 0
        )
        self.tags.add(self.client.uploadPart(request).getPartETag())

    def complete(self) -> None:
        """Make the object from its parts."""
        request = self.factory.newCompleteMultipartUploadRequest(
            self.key, self.upload_id, self.tags
        )
        self.client.completeMultipartUpload(request)
