"""Tests of connections to tables that are not on the local disk, where no server is needed."""

from __future__ import annotations

import pytest
from hdfs import HdfsError, InsecureClient
from pyarrow.fs import LocalFileSystem, S3FileSystem

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.storage import hdfs_files
from tests.java_tools import free_port
from tests.streaming.conftest import Shelf


def _s3() -> S3FileSystem:
    return S3FileSystem(
        endpoint_override=f"localhost:{free_port()}",
        scheme="http",
        access_key="key",
        secret_key="secret",
        region="us-east-1",
        connect_timeout=1,
    )


@pytest.mark.parametrize("location", ["hdfs://host:8020/t", "s3a://bucket/t", "abfs://c@a/t"])
def test_a_remote_table_needs_its_storage(shelf: Shelf, location: str) -> None:
    shelf.create("id int", location=location)
    with pytest.raises(AcidAnalysisError, match="storage=") as raised:
        shelf.connect()
    assert raised.value.getCondition() == "UNSUPPORTED_FEATURE.STREAMING_TABLE"


def test_a_storage_that_does_not_answer(shelf: Shelf) -> None:
    shelf.create("id int", location="hdfs://host:8020/t")
    nobody = InsecureClient(f"http://localhost:{free_port()}", user="ann", timeout=5)
    with pytest.raises(FormatError, match="cannot be reached") as raised:
        shelf.connect(storage=nobody)
    assert raised.value.getCondition() == "STORAGE_UNAVAILABLE"


def test_the_storage_of_another_table(shelf: Shelf) -> None:
    shelf.create("id int", location="hdfs://host:8020/t")
    for storage, condition in (
        (_s3(), "UNSUPPORTED_FEATURE.STREAMING_TABLE"),
        (LocalFileSystem(), "INVALID_PARAMETER_VALUE"),
        ("http://localhost:9870", "INVALID_PARAMETER_VALUE"),
    ):
        with pytest.raises(AcidAnalysisError) as raised:
            shelf.connect(storage=storage)
        assert raised.value.getCondition() == condition


def test_tables_of_the_local_disk_need_no_storage(shelf: Shelf) -> None:
    shelf.create("id int")
    with shelf.connect(storage=_s3()) as connection, connection.transaction():
        connection.write((1,))
    assert shelf.rows() == [(1,)]


@pytest.mark.parametrize(
    ("exception", "kind"),
    [
        ("FileNotFoundException", FileNotFoundError),
        ("FileAlreadyExistsException", FileExistsError),
        ("AccessControlException", PermissionError),
        ("RecoveryInProgressException", OSError),
        (None, OSError),
    ],
)
def test_errors_of_hdfs_are_those_of_files(exception: str | None, kind: type[OSError]) -> None:
    refusal = HdfsError("refused\n\tat org.apache.hadoop", exception=exception)
    with (
        pytest.raises(OSError, match="/t: refused$") as raised,
        hdfs_files._os_errors("hdfs://host/t"),
    ):
        raise refusal
    assert type(raised.value) is kind
