"""Build, check, try and sign a release: ``scripts/release`` runs this in an environment that has
what it needs. Steps and options are in CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Collection, Sequence
from email.parser import Parser
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_CHECKSUMS = "SHA256SUMS"
_SECONDS = 900
_URL_SECONDS = 20
_TEST_KEY = "acidsql dry run <dry-run@example.invalid>"
# A first session of a new user, and what its last statement prints.
_STATEMENTS = """
CREATE TABLE pets (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO pets VALUES (1, 'Rex'), (2, 'Tom');
UPDATE pets SET name = 'Felix' WHERE id = 2;
SELECT id, name FROM pets ORDER BY id;
"""
# The same without the shell.
_PROGRAM = """
import sys
from pyspark.sql import SparkSession
import acidsql
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.warehouse.dir", "warehouse").getOrCreate()
for statement in sys.argv[1].split(";")[:-1]:
    rows = acidsql.sql(spark, statement)
print(",".join(rows.columns))
for row in rows.collect():
    print(*row, sep=",")
"""
_WITHOUT_SHELL = "needs the package click: pip install 'acidsql[shell]'"
# Page of the documents that the shell reads its help from.
_SYNTAX_HELP = "acidsql/repl/statements.md"
# Packages of the wheel; those of dbt are parts of namespaces, which must have no other file.
_SOURCES = {".java", ".py", ".sql", ".yml"}
_PACKAGES = ("acidsql", "dbt/adapters/acidsql", "dbt/include/acidsql", "pyspark_acidsql")
_ANSWER = ["id,name", "1,Rex", "2,Felix"]
_UPDATED = "pets/delete_delta_0000002_0000002_0000/bucket_*"


class ReleaseError(Exception):
    """Failure to make a release; the message says why."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make a release as the command line asks."""
    options = _options().parse_args(arguments)
    try:
        _release(options)
    except ReleaseError as error:
        sys.exit(f"error: {error}")


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/release",
        description="Build, check, try and sign a release. Nothing is uploaded without --upload.",
    )
    parser.add_argument("--output", type=Path, default=_ROOT / "dist", help="an empty directory")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="release what is in the checkout, whatever its state; sign with a key that is thrown "
        "away",
    )
    signing = parser.add_mutually_exclusive_group()
    signing.add_argument("--no-sign", action="store_true", help="sign nothing")
    signing.add_argument("--key", help="of GnuPG, to sign with; the default is GnuPG's")
    parser.add_argument("--upload", action="store_true", help="publish with twine in the end")
    return parser


def _release(options: argparse.Namespace) -> None:
    if options.upload and (options.dry_run or options.no_sign):
        raise ReleaseError("what is uploaded is signed and not a dry run")
    output: Path = options.output.resolve()
    if output.exists() and any(output.iterdir()):
        raise ReleaseError(f"{output} is not empty: remove it, or choose another --output")
    version: str = _PROJECT["version"]
    if not options.dry_run:
        check_state(_ROOT, version)
    _say(f"building {version}")
    _run(sys.executable, "-m", "build", "--outdir", str(output), str(_ROOT))
    (wheel,), (source,) = output.glob("*.whl"), output.glob("*.tar.gz")
    check_distributions(wheel, source)
    _say(f"trying {source.name} with the shell in an empty environment")
    with tempfile.TemporaryDirectory() as directory:
        python = install(f"{source}[shell]", Path(directory))
        try_shell(python.parent, Path(directory) / "work")
    _say(f"trying {wheel.name} as a library in an empty environment")
    with tempfile.TemporaryDirectory() as directory:
        python = install(str(wheel), Path(directory))
        try_library(python, Path(directory) / "work")
        write_bom(python, output / f"acidsql-{version}.cdx.json")
    (output / _CHECKSUMS).write_text(checksums(output))
    if not options.no_sign:
        _say("signing")
        sign(output / _CHECKSUMS, options.key, throw_away=options.dry_run)
    _say(f"{output}:\n{(output / _CHECKSUMS).read_text()}")
    if options.upload:
        check_urls()
        _run(sys.executable, "-m", "twine", "upload", str(wheel), str(source))


def check_state(root: Path, version: str) -> None:
    """Check that a checkout is what its version says.

    Raises:
        ReleaseError: it has changes, is not tagged, or the changelog has no date for the version.
    """
    if _run("git", "-C", str(root), "status", "--porcelain"):
        raise ReleaseError("the checkout has changes: commit them first")
    tag = f"v{version}"
    if tag not in _run("git", "-C", str(root), "tag", "--points-at", "HEAD").split():
        raise ReleaseError(f"the commit has no tag {tag}: git tag -s {tag}")
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE
    ):
        raise ReleaseError(f"CHANGELOG.md has no date for {version}")


def check_distributions(wheel: Path, source: Path) -> None:
    """Check what the distributions hold and say.

    Raises:
        ReleaseError: something is missing or does not belong there.
    """
    _run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source))
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        said = archive.read(metadata).decode()
    with tarfile.open(source) as archive:
        files = [member.name.partition("/")[2] for member in archive if member.isfile()]
    problems = [*wheel_problems(names), *metadata_problems(said), *source_problems(files)]
    if problems:
        raise ReleaseError("; ".join(problems))


def wheel_problems(names: Collection[str]) -> list[str]:
    """Return what is wrong with the files of a wheel."""
    grammars = [f"acidsql/grammar/{path.name}" for path in (_ROOT / "grammar").glob("*.lark")]
    files = (path for own in _PACKAGES for path in (_ROOT / own).rglob("*"))
    modules = [str(p.relative_to(_ROOT)) for p in files if p.suffix in _SOURCES]
    others = ("py.typed", "repl/log4j2.properties")
    wanted = [*grammars, *modules, _SYNTAX_HELP, *(f"acidsql/{name}" for name in others)]
    information = f"acidsql-{_PROJECT['version']}.dist-info"
    wanted += [f"{information}/licenses/LICENSE", f"{information}/entry_points.txt"]
    page = f"acidsql-{_PROJECT['version']}.data/data/share/man/man1/acidsql.1"
    wanted.append(page)
    own = (*(f"{package}/" for package in (*_PACKAGES, information)), page)
    strangers = [name for name in names if not name.startswith(own)]
    return [
        *(f"the wheel lacks {name}" for name in sorted(set(wanted) - set(names))),
        *(f"the wheel has {name}" for name in strangers),
    ]


def metadata_problems(metadata: str) -> list[str]:
    """Return what is wrong with the metadata of a wheel."""
    said = Parser().parsestr(metadata)
    wanted = {
        "Name": _PROJECT["name"],
        "Version": _PROJECT["version"],
        "Requires-Python": _PROJECT["requires-python"],
        "License-Expression": _PROJECT["license"],
    }
    problems = [
        f"{name} is {said[name]!r}, not {value!r}"
        for name, value in wanted.items()
        if said[name] != value
    ]
    relative = re.findall(r"\]\((?!https?://|#)([^)]*)\)", str(said.get_payload()))
    return [*problems, *(f"the description links to {link}" for link in relative)]


def source_problems(names: Collection[str]) -> list[str]:
    """Return what is wrong with the files of a source distribution."""
    wanted = {str(path.relative_to(_ROOT)) for path in (_ROOT / "grammar").glob("*.lark")}
    wanted |= {"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "pyproject.toml"}
    wanted |= {"acidsql/py.typed", "scripts/release", "tests/conftest.py"}
    generated = (".venv", ".git/", "build/", "dist/", "spark-warehouse/")
    strangers = [
        name
        for name in names
        if name.startswith(generated) or {"target", "__pycache__"} & set(name.split("/"))
    ]
    return [
        *(f"the source distribution lacks {name}" for name in sorted(wanted - set(names))),
        *(f"the source distribution has {name}" for name in strangers),
    ]


def install(distribution: str, directory: Path) -> Path:
    """Install a distribution, perhaps with an extra, in an empty environment.

    Returns:
        The environment's interpreter.
    """
    _run(sys.executable, "-m", "venv", "--without-pip", str(directory / "venv"))
    python = directory / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    _run(*pip, "--python", str(python), "install", "-q", distribution)
    return python


def try_shell(scripts: Path, directory: Path) -> None:
    """Run the first statements of a new user in an empty directory, by the shell.

    Raises:
        ReleaseError: they did not answer as they should.
    """
    directory.mkdir()
    command = [str(scripts / "acidsql"), "--master", "local[2]", "--warehouse", "warehouse"]
    said = _run(*command, "--format", "csv", "-e", _STATEMENTS, directory=directory)
    _check_statements(said, directory)


def try_library(python: Path, directory: Path) -> None:
    """Run the same statements from Python, where the shell's packages are not installed.

    Raises:
        ReleaseError: they did not answer as they should, or the shell does not say what it needs.
    """
    directory.mkdir()
    said = _run(str(python), "-c", _PROGRAM, _STATEMENTS, directory=directory)
    _check_statements(said, directory)
    try:
        said = _run(str(python), "-m", "acidsql", "demo", directory=directory)
    except ReleaseError as error:
        said = str(error)
    if _WITHOUT_SHELL not in said:
        raise ReleaseError(f"without its packages the shell says:\n{said}")


def _check_statements(said: str, directory: Path) -> None:
    if said.splitlines()[-len(_ANSWER) :] != _ANSWER:
        raise ReleaseError(f"the statements answered:\n{said}")
    if not any((directory / "warehouse").glob(_UPDATED)):
        raise ReleaseError(f"the statements wrote no {_UPDATED}")


def write_bom(python: Path, path: Path) -> None:
    """Write the bill of materials of an environment, in CycloneDX's JSON."""
    _run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", str(python)),
        *("--pyproject", str(_ROOT / "pyproject.toml"), "--mc-type", "library"),
        *("--output-reproducible", "-o", str(path)),
    )


def checksums(directory: Path) -> str:
    """Return the SHA-256 checksums of the files of a directory, as ``sha256sum`` writes them."""
    lines = []
    for path in sorted(directory.iterdir()):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    return "".join(lines)


def sign(path: Path, key: str | None, *, throw_away: bool) -> None:
    """Write a detached signature of a file beside it, and check it.

    Args:
        key: of GnuPG; the default one if None.
        throw_away: sign with a new key that is gone afterwards.
    """
    if not throw_away:
        _sign(path, ["--local-user", key] if key else [])
        return
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o700)
        gpg = ["--homedir", home, "--pinentry-mode", "loopback", "--passphrase", ""]
        _run("gpg", "--batch", "-q", *gpg, "--quick-generate-key", _TEST_KEY, "ed25519", "sign")
        _sign(path, gpg)
        _run("gpgconf", "--homedir", home, "--kill", "gpg-agent")


def _sign(path: Path, gpg: Sequence[str]) -> None:
    signature = f"{path}.asc"
    _run("gpg", "--batch", *gpg, "--armor", "--output", signature, "--detach-sign", str(path))
    _run("gpg", "--batch", *gpg, "--verify", signature, str(path))


def check_urls() -> None:
    """Check that the addresses that the package names answer.

    Raises:
        ReleaseError: one does not.
    """
    for name, url in _PROJECT["urls"].items():
        try:
            urllib.request.urlopen(url, timeout=_URL_SECONDS).close()
        except (urllib.error.URLError, TimeoutError) as error:
            raise ReleaseError(f"project.urls: {name} does not answer ({url}: {error})") from error


def _run(*command: str, directory: Path | None = None) -> str:
    """Run a program outside the checkout's import path.

    Returns:
        What it printed.

    Raises:
        ReleaseError: it is not there, or it failed.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK"))}
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=inherited,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise ReleaseError(f"{command[0]} is not installed") from error
    if done.returncode != 0:
        said = f"{done.stdout[-4000:]}{done.stderr[-4000:]}"
        raise ReleaseError(f"{' '.join(command)} failed:\n{said}")
    return done.stdout


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
