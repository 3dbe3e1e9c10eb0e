"""Tests that a metastore's file is refused on the file systems of other machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.errors import MetastoreError
from acidsql.metastore.embedded import mounts
from acidsql.metastore.embedded.store import EmbeddedMetastore

MOUNTINFO = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home rw,relatime shared:9 master:3 - nfs4 server:/home rw,vers=4.2
31 30 254:1 / /home/ann/local rw - xfs /dev/vdb rw
32 22 0:27 / /mnt/with\\040space rw - fuse.sshfs ann@host:/ rw
33 22 0:28 / /twice rw - cifs //host/share rw
34 22 254:2 / /twice rw - ext4 /dev/vdc rw
not a line of it
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "ext4"),
        ("/tmp/x", "ext4"),
        ("/home", "nfs4"),
        ("/home/ann/x", "nfs4"),
        ("/homes/x", "ext4"),
        ("/home/ann/local/x", "xfs"),
        ("/mnt/with space/x", "fuse.sshfs"),
        ("/twice/x", "ext4"),
    ],
)
def test_the_nearest_mount_tells_the_type(path: str, expected: str) -> None:
    assert mounts.mounted_type(MOUNTINFO.splitlines(), Path(path)) == expected


@pytest.fixture
def mountinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mountinfo"
    monkeypatch.setattr(mounts, "_MOUNTS", path)
    return path


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_a_network_disk_is_refused(tmp_path: Path, mountinfo: Path, kind: str) -> None:
    mountinfo.write_text(f"30 22 0:26 / {tmp_path.resolve()} rw - {kind} somewhere rw\n")
    with pytest.raises(MetastoreError, match=rf"\[METASTORE_NOT_LOCAL\].* {kind} .*local disk"):
        EmbeddedMetastore(str(tmp_path / "new" / "metastore.sqlite"))
    assert [path.name for path in tmp_path.iterdir()] == ["mountinfo"]


@pytest.mark.parametrize("kind", ["ext4", "overlay", "fuse.ntfs-3g", "tmpfs"])
def test_a_local_disk_is_not(tmp_path: Path, mountinfo: Path, kind: str) -> None:
    mountinfo.write_text(f"30 22 0:26 / {tmp_path.resolve()} rw - {kind} somewhere rw\n")
    EmbeddedMetastore(str(tmp_path / "metastore.sqlite")).close()


def test_where_the_kernel_does_not_tell_nothing_is_refused(tmp_path: Path, mountinfo: Path) -> None:
    assert not mountinfo.exists()
    EmbeddedMetastore(str(tmp_path / "metastore.sqlite")).close()
