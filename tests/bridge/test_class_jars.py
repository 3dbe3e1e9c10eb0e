"""Tests of the cache of compiled classes."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest

from acidsql.bridge.class_jars import digest_of, jar_of, kept_jar

_CLASSES = {"a/B.class": b"bytes of B", "a/C.class": b"bytes of C"}


class Compiler:
    """Counts how often classes are compiled."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self) -> dict[str, bytes]:
        self.runs += 1
        return _CLASSES


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir(mode=0o700)
    return tmp_path / "scratch"


def test_a_jar_is_made_once_and_is_private(tmp_path: Path, scratch: Path) -> None:
    cache, make = tmp_path / "home" / "classes", Compiler()
    first = kept_jar("k", make, cache, lambda: scratch)
    assert kept_jar("k", make, cache, lambda: scratch) == first
    assert make.runs == 1
    assert first.parent == cache
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    with zipfile.ZipFile(first) as jar:
        assert {name: jar.read(name) for name in jar.namelist()} == _CLASSES
    assert [path.name for path in cache.iterdir()] == [first.name]
    assert list(scratch.iterdir()) == []


def test_no_directory_of_the_process_is_made_where_the_cache_has_the_jar(tmp_path: Path) -> None:
    def no_directory() -> Path:
        raise AssertionError("a directory was made")

    cache = tmp_path / "c"
    kept_jar("k", Compiler(), cache, lambda: tmp_path / "none")
    assert kept_jar("k", Compiler(), cache, no_directory).parent == cache


def test_another_key_has_another_jar(tmp_path: Path, scratch: Path) -> None:
    make = Compiler()
    assert kept_jar("k", make, tmp_path / "c", lambda: scratch) != kept_jar(
        "l", make, tmp_path / "c", lambda: scratch
    )
    assert make.runs == 2


@pytest.mark.parametrize("damage", [b"", b"PK", b"another jar"])
def test_a_jar_with_other_bytes_is_made_again(tmp_path: Path, scratch: Path, damage: bytes) -> None:
    cache, make = tmp_path / "c", Compiler()
    first = kept_jar("k", make, cache, lambda: scratch)
    whole = first.read_bytes()
    first.write_bytes(damage)
    assert kept_jar("k", make, cache, lambda: scratch) == first
    assert make.runs == 2
    assert first.read_bytes() == whole


@pytest.mark.parametrize("mode", [0o640, 0o602])
def test_a_jar_that_others_may_open_is_not_loaded(tmp_path: Path, scratch: Path, mode: int) -> None:
    cache, make = tmp_path / "c", Compiler()
    kept_jar("k", make, cache, lambda: scratch).chmod(mode)
    made = kept_jar("k", make, cache, lambda: scratch)
    assert make.runs == 2
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_a_link_is_not_followed(tmp_path: Path, scratch: Path) -> None:
    cache, make = tmp_path / "c", Compiler()
    first = kept_jar("k", make, cache, lambda: scratch)
    first.rename(tmp_path / first.name)
    first.symlink_to(tmp_path / first.name)
    assert not kept_jar("k", make, cache, lambda: scratch).is_symlink()
    assert make.runs == 2


def test_a_cache_that_others_may_open_is_not_used(tmp_path: Path, scratch: Path) -> None:
    cache, make = tmp_path / "c", Compiler()
    cache.mkdir()
    cache.chmod(0o755)
    first = kept_jar("k", make, cache, lambda: scratch)
    assert first.parent == scratch
    assert kept_jar("k", make, cache, lambda: scratch) == first
    assert make.runs == 1
    assert list(cache.iterdir()) == []


def test_without_a_cache_the_jar_is_of_the_process(tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "file").write_text("no directory can be made below this")
    assert kept_jar("k", Compiler(), tmp_path / "file" / "c", lambda: scratch).parent == scratch


def test_what_nobody_uses_is_removed(tmp_path: Path, scratch: Path) -> None:
    cache, make = tmp_path / "c", Compiler()
    old = kept_jar("old", make, cache, lambda: scratch)
    used = kept_jar("used", make, cache, lambda: scratch)
    torn = cache / ".of-a-killed-process.tmp"
    torn.touch()
    for path in (old, used, torn):
        os.utime(path, (0, 0))
    assert kept_jar("used", make, cache, lambda: scratch) == used
    new = kept_jar("new", make, cache, lambda: scratch)
    assert sorted(cache.iterdir()) == sorted([used, new])


def test_nothing_is_left_of_a_jar_that_could_not_be_written(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    cache = tmp_path / "c"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="no space"):  # nor is there space for the process
            kept_jar("k", Compiler(), cache, lambda: scratch)
    assert list(cache.iterdir()) == list(scratch.iterdir()) == []


def test_equal_classes_make_equal_jars() -> None:
    assert jar_of(_CLASSES) == jar_of(dict(reversed(_CLASSES.items())))


def test_digests_tell_where_a_text_ends() -> None:
    assert digest_of(["ab", "c"]) != digest_of(["a", "bc"])
    assert digest_of(["a"]) == digest_of(["a"])
