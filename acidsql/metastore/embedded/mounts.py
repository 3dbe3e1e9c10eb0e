"""File systems that cannot contain a metastore's file, because other machines share them.

SQLite's write-ahead log needs memory that all its users share, and reliable file locks. Neither
works between machines. On Linux, the kernel lists all mounted file systems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
# Types of file systems, named as in /proc/filesystems; for FUSE, with the name of the program.
_NETWORK_TYPES = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "glusterfs", "gpfs", "lustre",
        "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb2", "smb3", "smbfs",
        "fuse.blobfuse", "fuse.blobfuse2", "fuse.ceph", "fuse.ceph-fuse", "fuse.davfs",
        "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.hdfs", "fuse.juicefs",
        "fuse.mount-s3", "fuse.moosefs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
    }
)  # fmt: skip


def network_type(path: Path) -> str | None:
    """Return the type of the network file system that contains a path.

    None if the path is on no network file system, or if this cannot be determined.
    """
    try:
        mounts = _MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    file_system = mounted_type(mounts, path.resolve())
    return file_system if file_system in _NETWORK_TYPES else None


def mounted_type(mounts: Iterable[str], path: Path) -> str | None:
    """Return the type of the file system that contains a path.

    Args:
        mounts: lines of ``/proc/self/mountinfo`` (proc(5)).
        path: absolute path without symbolic links.
    """
    file_system, above = None, Path()
    for line in mounts:
        before, _, after = line.partition(" - ")
        fields, types = before.split(" "), after.split(" ")
        if len(fields) < 5:
            continue
        point = Path(_unescaped(fields[4]))
        # A later mount hides an earlier one at the same place.
        if path.is_relative_to(point) and len(point.parts) >= len(above.parts):
            file_system, above = types[0], point
    return file_system


def _unescaped(text: str) -> str:
    r"""Replace the escapes of mountinfo: ``\040`` is a space."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
