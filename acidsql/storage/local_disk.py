"""Operations on the local disk that have the same meaning for programs with and without Spark."""

from __future__ import annotations

import errno
import shutil
from contextlib import suppress
from pathlib import Path

from acidsql.errors import FormatError

_SCHEME = "file:"


def is_local(path: str) -> bool:
    """Return whether a path (``file:/…``) is on the local disk."""
    return path.startswith(_SCHEME)


def local_path(path: str) -> Path | None:
    """Return a path (``file:/…``) on the local disk, None if it is on another file system."""
    return Path("/" + path[len(_SCHEME) :].lstrip("/")) if is_local(path) else None


def move(old: Path, new: Path) -> bool:
    """Rename a file or directory if it exists and the target's parent exists.

    A directory atomically replaces an empty directory.

    Returns:
        False if the source or the target's parent does not exist, so that nothing was done.

    Raises:
        FileExistsError: the target exists and cannot be replaced.
    """
    if not old.exists() or not new.parent.exists():
        return False
    if new.exists() and not (old.is_dir() and new.is_dir()):
        raise FileExistsError(errno.EEXIST, "exists", str(new))
    try:
        old.rename(new)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise FileExistsError(errno.EEXIST, "exists", str(new)) from error
        raise
    return True


def delete(local: Path) -> None:
    """Delete a file, or a directory with its contents; it need not exist."""
    while local.is_dir():
        # Another process may be deleting it too. Files that it deletes first are not an error.
        with suppress(FileNotFoundError):
            shutil.rmtree(local)
    local.unlink(missing_ok=True)


def delete_if_empty(local: Path) -> bool:
    """Delete a directory if it is empty; return whether it no longer exists."""
    try:
        local.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        if not local.is_dir() or not any(local.iterdir()):
            raise
        return False
    return True


def target_exists(source: str, target: str) -> FormatError:
    """Return the error PATH_ALREADY_EXISTS for the existing target of a rename."""
    return FormatError(
        "PATH_ALREADY_EXISTS",
        f"cannot rename {source} to {target}, which exists: move it away",
        {"outputPath": target},
    )
