"""Paths of files and directories, as texts with a scheme (``file:/a/b``, ``hdfs://host/a``)."""

from __future__ import annotations

# In bytes; HDFS has the same limit (dfs.namenode.fs-limits.max-component-length).
_LONGEST_NAME = 255


def can_exist(path: str) -> bool:
    """Return whether file systems allow the names in a path.

    >>> can_exist("file:/a/b"), can_exist("file:/a/" + "b" * 256)
    (True, False)
    """
    names = path.encode(errors="replace").split(b"/")
    return b"\0" not in path.encode(errors="replace") and max(map(len, names)) <= _LONGEST_NAME


def parent(path: str) -> str:
    """Return the directory that contains a file or directory.

    >>> parent("file:/a/b"), parent("hdfs://host:8020/a"), parent("file:/a")
    ('file:/a', 'hdfs://host:8020/', 'file:/')
    """
    above = path.rpartition("/")[0]
    is_root = above.endswith(":") or ("/" not in above.partition("://")[2] and "://" in above)
    return f"{above}/" if is_root else above


def child(path: str, *names: str) -> str:
    """Return the path of ``names`` below ``path``."""
    return "/".join([path.rstrip("/"), *names])
