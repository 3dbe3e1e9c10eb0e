"""Store of the tests: a server of S3's protocol on loopback, and a bucket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from moto.s3.models import s3_backends

from tests.s3.server import Requests, running

BUCKET = "tables"
_KEY, _SECRET, _REGION = "key", "secret", "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Bucket of a server.

    Attributes:
        endpoint: address of the server.
        client: of boto3, whose requests count too.
    """

    endpoint: str
    client: Any

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys of all objects, sorted; those of directories end in a slash."""
        return sorted(self.sizes(prefix))

    def sizes(self, prefix: str = "") -> dict[str, int]:
        """Return the sizes of all objects, by their keys."""
        return {found["Key"]: found["Size"] for found in self._objects(prefix)}

    def modified(self, prefix: str) -> dict[str, int]:
        """Return when all objects were written, in milliseconds since 1970, by their keys."""
        return {
            found["Key"]: round(found["LastModified"].timestamp() * 1000)
            for found in self._objects(prefix)
        }

    def _objects(self, prefix: str) -> Iterator[dict[str, Any]]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return (found for page in pages for found in page.get("Contents", ()))

    def files(self, prefix: str) -> list[str]:
        """Return the keys of files below a directory, relative to it."""
        keys = self.keys(f"{prefix}/")
        return [key.removeprefix(f"{prefix}/") for key in keys if not key.endswith("/")]

    def read(self, key: str) -> bytes:
        """Return the content of an object."""
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def write(self, key: str, content: bytes) -> None:
        """Make an object."""
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def copy(self, prefix: str, target: str) -> None:
        """Copy all objects whose keys begin with a prefix to keys that begin with another one."""
        for key in self.keys(prefix):
            source = {"Bucket": BUCKET, "Key": key}
            to = target + key.removeprefix(prefix)
            self.client.copy_object(Bucket=BUCKET, Key=to, CopySource=source)

    def delete(self, prefix: str) -> None:
        """Delete all objects whose keys begin with a prefix."""
        for key in self.keys(prefix):
            self.client.delete_object(Bucket=BUCKET, Key=key)

    def uploads(self, prefix: str = "") -> list[str]:
        """Return the keys of the uploads that were begun and not ended."""
        found = self.client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix)
        return [upload["Key"] for upload in found.get("Uploads", ())]

    def settings(self) -> Mapping[str, str]:
        """Return the settings of a session that uses it."""
        return settings(self.endpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Bucket):
    """Bucket of a server of this process.

    Attributes:
        requests: those that the server was sent.
    """

    requests: Requests

    def fill(self, contents: Mapping[str, bytes]) -> None:
        """Make objects without requests."""
        (account,) = s3_backends
        for key, content in contents.items():
            s3_backends[account]["aws"].put_object(BUCKET, key, content)


def settings(endpoint: str) -> Mapping[str, str]:
    """Return the settings of a session, or of a metastore, that uses a server."""
    return {
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.endpoint.region": _REGION,
        "fs.s3a.paging.maximum": "1000",  # files of a listing, as of Amazon's servers
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.access.key": _KEY,
        "fs.s3a.secret.key": _SECRET,
    }


def connected(endpoint: str) -> Bucket:
    """Return the bucket of a server that runs."""
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=_KEY,
        aws_secret_access_key=_SECRET,
        region_name=_REGION,
    )
    return Bucket(endpoint=endpoint, client=client)


@contextmanager
def opened(least_part: int | None = None) -> Iterator[Store]:
    """Run a server with an empty bucket within the block.

    Args:
        least_part: size of the smallest part of an upload, if it is not Amazon's 5 MiB.
    """
    with running(least_part=least_part) as (endpoint, requests):
        client = connected(endpoint).client
        client.create_bucket(Bucket=BUCKET)
        yield Store(endpoint=endpoint, client=client, requests=requests)
