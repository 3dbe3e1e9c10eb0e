"""Package gssapi, which is published only as source: compiled once, with headers that are fetched
where the system has none.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.java_tools import JavaSetupError, prepared, run_tool

VERSION = "1.12.0"
_HEADERS = ("krb5-multidev", "libkrb5-dev", "comerr-dev")
_LIBRARY = "libgssapi_krb5.so.2"
_CAN_IMPORT = "import gssapi; gssapi.SecurityContext"


class NoGssapiError(Exception):
    """Absence of the package; the message says why."""


def import_path() -> str:
    """Return the directory to import gssapi from; empty where this environment has it.

    Raises:
        NoGssapiError: it is not there and could not be compiled.
    """
    if importlib.util.find_spec("gssapi") is not None:
        return ""
    python = f"{sys.implementation.cache_tag}-{VERSION}"
    try:
        place = prepared("gssapi", python, [VERSION, *_HEADERS, sys.base_prefix], _compile)
        run_tool(
            [sys.executable, "-c", f"import sys; sys.path[:0] = ['{place}']; {_CAN_IMPORT}"], place
        )
    except (JavaSetupError, subprocess.TimeoutExpired, OSError) as error:
        raise NoGssapiError(f"gssapi {VERSION} could not be compiled: {error}") from error
    return str(place)


def _compile(work: Path) -> None:
    environment = dict(os.environ)
    if shutil.which("krb5-config") is None:
        environment |= _fetched_headers(work / "headers")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(work)]
    run_tool([*pip, f"gssapi=={VERSION}"], work, environment=environment)


def _fetched_headers(headers: Path) -> dict[str, str]:
    """Unpack Debian's headers, and return the variables that gssapi's build finds them by."""
    headers.mkdir()
    download = ["apt-get", "-q", "download", *_HEADERS]
    try:
        run_tool(download, headers)
    except JavaSetupError:  # a new machine has no list of packages yet
        run_tool(["apt-get", "-q", "update"], headers)
        run_tool(download, headers)
    for package in headers.glob("*.deb"):
        run_tool(["dpkg-deb", "-x", str(package), str(headers)], headers)
    include = headers / "usr" / "include"
    return {
        "GSSAPI_COMPILER_ARGS": f"-I{include} -I{include}/mit-krb5 -DHAS_GSSAPI_EXT_H",
        "GSSAPI_LINKER_ARGS": f"-l:{_LIBRARY}",
        "GSSAPI_MAIN_LIB": _LIBRARY,
    }
