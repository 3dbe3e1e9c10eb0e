"""Listings of all directories, from the files below one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.bridge import ListedPath
from acidsql.storage.directory import FileVersion, by_store, listings_of

_NAMES = st.text("ab=%/ä ", min_size=1, max_size=3).map(lambda name: name.replace("/", "_"))
_PATHS = st.lists(st.tuples(_NAMES, st.lists(_NAMES, max_size=3)), max_size=8)


def _found(*paths: str) -> list[ListedPath]:
    return [
        ListedPath(f"s3a://b/t/{path}", is_directory=False, size=number, modified=number + 1)
        for number, path in enumerate(paths)
    ]


def test_directories_are_those_that_files_are_below() -> None:
    found = listings_of("s3a://b/t", _found("p=1/delta_1/f", "p=1/delta_1/g", "p=2/x/y/f", "h"))
    names = {path: listing.names for path, listing in found.items()}
    assert names == {
        "s3a://b/t": ("h", "p=1", "p=2"),
        "s3a://b/t/p=1": ("delta_1",),
        "s3a://b/t/p=1/delta_1": ("f", "g"),
        "s3a://b/t/p=2": ("x",),
        "s3a://b/t/p=2/x": ("y",),
        "s3a://b/t/p=2/x/y": ("f",),
    }
    assert found["s3a://b/t"].files == {"h": FileVersion(3, 4)}
    assert found["s3a://b/t/p=1/delta_1"].files == {"f": FileVersion(0, 1), "g": FileVersion(1, 2)}


def test_a_directory_that_is_missing_has_no_names() -> None:
    (listing,) = listings_of("s3a://b/t", None).values()
    assert (listing.names, listing.exists) == ((), False)
    (listing,) = listings_of("s3a://b/t", []).values()
    assert (listing.names, listing.exists) == ((), True)


@given(_PATHS)
def test_every_file_is_found_by_its_names(paths: list[tuple[str, list[str]]]) -> None:
    # A name is either of a file or of a directory.
    files = {"/".join([*(f"{name}_d" for name in above), name]) for name, above in paths}
    found = listings_of("s3a://b/t", _found(*files))
    seen = set()

    def walk(path: str) -> None:
        for name in found[path].names:
            if name in found[path].files:
                seen.add(f"{path}/{name}".removeprefix("s3a://b/t/"))
            else:
                walk(f"{path}/{name}")

    walk("s3a://b/t")
    assert seen == files


def test_paths_are_grouped_by_their_store() -> None:
    paths = ["s3a://a/x", "s3a://b/x", "file:/x", "s3a://a/y", "file:///z"]
    assert by_store(paths) == {
        "s3a://a": ["s3a://a/x", "s3a://a/y"],
        "s3a://b": ["s3a://b/x"],
        "file": ["file:/x"],
        "file://": ["file:///z"],
    }
