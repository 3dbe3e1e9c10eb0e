"""Whose an unfinished upload is, by its path."""

from __future__ import annotations

import pytest

from acidsql.storage.uploads import is_dead


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("_acidsql_staging_7/__target=i0/part-00000-x.orc", False),
        ("_acidsql_staging_8/__target=i0/part-00000-x.orc", True),
        ("delta_0000003_0000003_0000/bucket_00000", False),
        ("p=1/delete_delta_0000003_0000003_0001/bucket_00000", False),
        ("p=1/delta_0000004_0000004_0000/bucket_00000", True),
        ("base_0000004/bucket_00000", True),
        ("base_0000003_v0000007/bucket_00000", False),
        ("p=1/delta_0000001_0000003_v0000008/bucket_00000", True),
        # Of a writer that is not known.
        ("p=1/000000_0", False),
        ("delta_0000004_0000004_0000", False),
    ],
)
def test_an_upload_is_dead_if_its_transaction_is_not_open(path: str, expected: bool) -> None:
    assert is_dead(path, open_txns={7}, open_write_ids={3}) is expected
