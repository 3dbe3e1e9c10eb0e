"""The configuration file: what is written, what is read, what is refused."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from acidsql.repl.config import Config, ConfigError, config_text, read_config, write_config


def test_the_written_file_documents_every_option_and_changes_none(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    write_config(file)
    assert file.read_text("utf-8") == config_text()
    assert tomllib.loads(config_text()) == {}
    assert read_config(file) == Config()
    for option in fields(Config):
        assert re.search(rf"\n\n(# .+\n)+#{option.name} = ", config_text()), option.name


def test_the_values_in_the_file_are_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(re.sub(r"^#(\w+ = )", r"\1", config_text(), flags=re.MULTILINE))
    assert len(tomllib.loads(file.read_text())) == len(fields(Config))
    assert read_config(file) == Config()


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("limit = 7\n")
    write_config(file)
    assert read_config(file) == Config(limit=7)


def test_without_a_file_there_are_the_defaults(tmp_path: Path) -> None:
    assert read_config(tmp_path / "none.toml") == Config()


def test_values(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'key_bindings = "vi"\ndestructive_warning = ["drop"]\ntiming = false\npager = "most -s"\n'
    )
    assert read_config(file) == Config(
        key_bindings="vi", destructive_warning=("drop",), timing=False, pager="most -s"
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("timing = 1", "timing = 1 is not true or false"),
        ("limit = true", "limit = True is not a number, 0 or greater"),
        ("limit = -1", "limit = -1 is not a number, 0 or greater"),
        ('format = "psql"', "format = 'psql' is not one of table, unicode,"),
        ('destructive_warning = "drop"', "destructive_warning = 'drop' is not a list of"),
        ('destructive_warning = ["drop", "x"]', "is not a list of unconditional_delete,"),
        ("destructive_warning = [[]]", "is not a list of unconditional_delete,"),
        ("pager = false", "pager = False is not a text"),
        ("tming = true", "there is no option tming (of format, limit,"),
        ("timing = ", "Invalid value (at line 1, column 10)"),
    ],
)
def test_what_is_wrong_is_said_with_the_name_of_the_file(
    tmp_path: Path, line: str, problem: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"{line}\n")
    with pytest.raises(ConfigError) as raised:
        read_config(file)
    assert str(raised.value).startswith(f"{file}: ")
    assert problem in str(raised.value)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="directory"):
        read_config(tmp_path)
