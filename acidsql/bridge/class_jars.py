"""Jars of compiled Java classes in the user's cache directory.

The name of a jar contains a digest of the compiler's inputs and a digest of the jar itself. A jar
that is incomplete, modified or owned by another user is never loaded. It is compiled again.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_DIGITS = 32
_OLD_SECONDS = 90 * 86_400
# The earliest date that a jar allows. It is constant, so that equal classes make equal jars.
_DATE = (1980, 1, 1, 0, 0, 0)


def digest_of(parts: Sequence[str]) -> str:
    """Return the digest of the compiler's inputs, 32 hexadecimal digits.

    Args:
        parts: source texts, and the versions of all components that affect the compiler.
    """
    lengths = "".join(f"{len(part)}:" for part in parts)
    return hashlib.sha256((lengths + "".join(parts)).encode()).hexdigest()[:_DIGITS]


def jar_of(classes: Mapping[str, bytes]) -> bytes:
    """Build a jar.

    Args:
        classes: content of each file by its name, such as ``acidsql/bridge/Planning.class``.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as jar:
        for name in sorted(classes):
            jar.writestr(zipfile.ZipInfo(name, _DATE), classes[name], zipfile.ZIP_DEFLATED)
    return made.getvalue()


def kept_jar(
    key: str,
    make: Callable[[], Mapping[str, bytes]],
    cache: Path,
    scratch: Callable[[], Path],
) -> Path:
    """Return the jar of some classes; compile them unless a cache contains an intact jar.

    Args:
        key: digest of the compiler's inputs (``digest_of``).
        make: compiles the classes; ``jar_of`` takes its result.
        cache: directory for the jars of this user, created if it does not exist.
        scratch: returns a directory of this process, for the jar if the cache is not writable.
    """
    path = _whole_jar(key, cache) or _whole_jar(key, scratch())
    if path is not None:
        return path
    jar = jar_of(make())
    name = f"{key}-{_digest(jar)}.jar"
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(cache, stat.S_ISDIR):
            return _write(cache, name, jar)
    except OSError:
        pass  # a read-only home, a full disk: the next session compiles again
    return _write(scratch(), name, jar)


def _whole_jar(key: str, place: Path) -> Path | None:
    """Return the jar of a key in a directory, if it is private and matches its digest."""
    try:
        if not _is_private(place, stat.S_ISDIR):
            return None
        for path in sorted(place.glob(f"{key}-*.jar")):
            if (
                _is_private(path, stat.S_ISREG)
                and path.stem == f"{key}-{_digest(path.read_bytes())}"
            ):
                os.utime(path)
                return path
    except OSError:
        pass  # another process removed it, or it is not readable
    return None


def _is_private(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Return whether a path is of a kind, belongs to this user, and is closed to other users."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return is_kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _write(place: Path, name: str, content: bytes) -> Path:
    """Write a file under another name and rename it, so that no process reads it half-written."""
    handle, temporary = tempfile.mkstemp(dir=place, prefix=".", suffix=".tmp")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        target = place / name
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _remove_old(place)
    return target


def _remove_old(place: Path) -> None:
    """Remove jars and files of killed processes that were not used for a long time."""
    oldest = time.time() - _OLD_SECONDS
    for pattern in ("*.jar", ".*.tmp"):
        for path in place.glob(pattern):
            try:
                if path.lstat().st_mtime < oldest:
                    path.unlink(missing_ok=True)
            except FileNotFoundError:
                continue  # another process was faster
            except PermissionError:
                return


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
