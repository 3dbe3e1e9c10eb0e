"""Paths of files and directories, as texts with a scheme (``file:/a/b``, ``hdfs://host/a``)."""

from __future__ import annotations


def parent(path: str) -> str:
    """Return the directory in which a file or directory lies.

    >>> parent("file:/a/b"), parent("hdfs://host:8020/a"), parent("file:/a")
    ('file:/a', 'hdfs://host:8020/', 'file:/')
    """
    above = path.rpartition("/")[0]
    is_root = above.endswith(":") or ("/" not in above.partition("://")[2] and "://" in above)
    return f"{above}/" if is_root else above
