"""Tests of ``scripts/release``: of what it builds, and of what it refuses."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from scripts import build_release
from scripts.build_release import ReleaseError
from tests.requirements import unavailable

_ROOT = Path(__file__).parents[2]
_SECONDS = 1500


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a dry run, which installs both distributions in empty environments; return its files."""
    if shutil.which("gpg") is None:
        unavailable("gpg is not on the PATH: install GnuPG (Debian, Ubuntu: apt install gpg)")
    output = tmp_path_factory.mktemp("release") / "dist"
    command = [sys.executable, "scripts/build_release.py", "--dry-run", "--output", str(output)]
    done = subprocess.run(
        command,
        cwd=_ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (output / "SHA256SUMS").read_text() in done.stdout
    return output


@pytest.mark.packaging
@pytest.mark.timeout(_SECONDS)
def test_release_has_its_checksums_and_a_signature(released: Path) -> None:
    names = {path.name for path in released.iterdir()}
    distributions = {"acidsql-0.1.0-py3-none-any.whl", "acidsql-0.1.0.tar.gz"}
    assert names == {*distributions, "acidsql-0.1.0.cdx.json", "SHA256SUMS", "SHA256SUMS.asc"}
    lines = [line.split() for line in (released / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == {*distributions, "acidsql-0.1.0.cdx.json"}
    for digest, name in lines:
        assert hashlib.sha256((released / name).read_bytes()).hexdigest() == digest
    assert (released / "SHA256SUMS.asc").read_text().startswith("-----BEGIN PGP SIGNATURE-----")


@pytest.mark.packaging
def test_wheel_is_typed_and_holds_its_packages_alone(released: Path) -> None:
    (wheel,) = released.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = Parser().parsestr(archive.read("acidsql-0.1.0.dist-info/METADATA").decode())
    # By the last one Spark finds the data source, by those of dbt its adapter is found.
    packages = ("acidsql/", "dbt/adapters/acidsql/", "dbt/include/acidsql/", "pyspark_acidsql/")
    manual = "acidsql-0.1.0.data/data/share/man/man1/acidsql.1"
    own = (*packages, manual, "acidsql-0.1.0.dist-info/")
    assert {next((o for o in own if name.startswith(o)), name) for name in names} == set(own)
    assert "dbt/include/acidsql/macros/incremental.sql" in names
    assert "acidsql/py.typed" in names
    assert {f"acidsql/grammar/{path.name}" for path in (_ROOT / "grammar").glob("*.lark")} <= names
    assert metadata["Requires-Python"] == ">=3.11"
    assert "/main/docs/images/shell.svg)" in metadata.get_payload()
    requirements = metadata.get_all("Requires-Dist", [])
    pyspark = ["pyspark<5,>=3.5", "pyspark[connect]>=4; extra == 'connect'"]
    assert [line for line in requirements if line.startswith("pyspark")] == pyspark
    dbt = [line for line in requirements if line.startswith("dbt-spark")]
    assert [line.partition("; ")[2] for line in dbt] == ["extra == 'dbt'"]
    pandas = [line for line in requirements if line.startswith("pandas")]
    assert [line.partition("; ")[2] for line in pandas] == ["extra == 'dev'"]


@pytest.mark.packaging
def test_source_distribution_holds_tests_and_licence(released: Path) -> None:
    (source,) = released.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/packaging/test_release.py"} <= names
    assert not [name for name in names if name.startswith((".venv", "target", ".git/"))]


@pytest.mark.packaging
def test_bill_of_materials_names_what_was_installed(released: Path) -> None:
    bom = json.loads((released / "acidsql-0.1.0.cdx.json").read_text())
    assert bom["bomFormat"] == "CycloneDX"
    root = bom["metadata"]["component"]
    assert (root["name"], root["version"], root["type"]) == ("acidsql", "0.1.0", "library")
    found = {component["name"].lower(): component for component in bom["components"]}
    assert {"pyspark", "py4j", "pyarrow", "numpy", "lark", "thriftpy2"} <= set(found)
    of_the_shell = {"click", "cli-helpers", "prompt-toolkit", "pygments", "tqdm"}
    assert not {"pandas", "pip", "pyorc", "pytest", *of_the_shell} & set(found)
    for component in found.values():
        assert component["purl"].endswith(f"@{component['version']}")


def test_wheel_that_lacks_files_is_refused() -> None:
    grammars = [f"acidsql/grammar/{path.name}" for path in (_ROOT / "grammar").glob("*.lark")]
    packages = (_ROOT / name for name in ("acidsql", "dbt", "pyspark_acidsql"))
    suffixes = {".java", ".py", ".sql", ".yml"}
    files = [file for each in packages for file in each.rglob("*") if file.suffix in suffixes]
    modules = [str(file.relative_to(_ROOT)) for file in files]
    information = ["acidsql-0.1.0.dist-info/licenses/LICENSE"]
    information += ["acidsql-0.1.0.dist-info/entry_points.txt"]
    whole = [
        *grammars,
        *modules,
        *information,
        "acidsql/py.typed",
        "acidsql/repl/log4j2.properties",
        "acidsql/repl/statements.md",
        "acidsql-0.1.0.data/data/share/man/man1/acidsql.1",
    ]
    assert build_release.wheel_problems(whole) == []
    for name in ("acidsql/py.typed", grammars[0], "acidsql/bridge/ThriftServer.java"):
        rest = [other for other in whole if other != name]
        assert build_release.wheel_problems(rest) == [f"the wheel lacks {name}"]
    for name in ("tests/limits.py", "dbt/__init__.py"):
        problems = build_release.wheel_problems([*whole, name])
        assert problems == [f"the wheel has {name}"]


def test_source_distribution_with_generated_files_is_refused() -> None:
    whole = ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "pyproject.toml"]
    whole += ["acidsql/py.typed", "scripts/release", "tests/conftest.py"]
    whole += [f"grammar/{path.name}" for path in (_ROOT / "grammar").glob("*.lark")]
    assert build_release.source_problems(whole) == []
    for name in (".venv/bin/python", "tests/hdfs/target/a.jar", "acidsql/__pycache__/api.pyc"):
        problems = build_release.source_problems([*whole, name])
        assert problems == [f"the source distribution has {name}"]
    problems = build_release.source_problems(whole[1:])
    assert problems == ["the source distribution lacks LICENSE"]


def test_metadata_that_says_otherwise_is_refused() -> None:
    said = (
        "Name: acidsql\nVersion: 0.1.0\nRequires-Python: >=3.11\nLicense-Expression: Apache-2.0\n"
    )
    assert build_release.metadata_problems(f"{said}\n[a](https://example.com/a) [b](#b)") == []
    problems = build_release.metadata_problems(f"{said}\n![a](docs/images/a.svg)")
    assert problems == ["the description links to docs/images/a.svg"]
    problems = build_release.metadata_problems(said.replace("3.11", "3.9") + "\n")
    assert problems == ["Requires-Python is '>=3.9', not '>=3.11'"]


def test_release_is_what_was_tagged(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.invalid"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True)

    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## [1.2.0] - unreleased\n")
    git("init", "-q")
    with pytest.raises(ReleaseError, match="has changes"):
        build_release.check_state(tmp_path, "1.2.0")
    git("add", ".")
    git("commit", "-q", "-m", "all")
    git("tag", "v1.1.0")
    with pytest.raises(ReleaseError, match=r"no tag v1\.2\.0"):
        build_release.check_state(tmp_path, "1.2.0")
    git("tag", "v1.2.0")
    with pytest.raises(ReleaseError, match=r"no date for 1\.2\.0"):
        build_release.check_state(tmp_path, "1.2.0")
    changelog.write_text("# Changelog\n\n## [1.2.0] - 2026-11-30\n")
    git("commit", "-q", "-a", "-m", "date")
    git("tag", "--force", "v1.2.0")
    build_release.check_state(tmp_path, "1.2.0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--upload", "--dry-run"], "signed and not a dry run"),
        (["--upload", "--no-sign"], "signed and not a dry run"),
        (["--dry-run", "--output", str(_ROOT / "docs")], "not empty"),
    ],
)
def test_options_that_contradict(options: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        build_release.main(options)
