"""Lines of Hive's scripts that are not SQL: settings, and commands of its shells."""

from __future__ import annotations

import re

from acidsql.dialects.refusals import unsupported
from acidsql.dialects.translation import Translation
from acidsql.syntax.lexer import Lexis, blank_comments, quote

_SET = re.compile(r"\s*SET\s+(?P<key>[^\s=]+)\s*=\s*(?P<value>.*)", re.IGNORECASE | re.DOTALL)
_COMMAND = re.compile(r"\s*(?P<word>!|\w+)")
_PLAIN_KEY = re.compile(r"[\w.:]+")
# _HEEDED are the settings that change the translation of a statement (``hive.translated``). The
# others with these prefixes only control Hive's execution: Spark ignores them, and no row changes.
_HEEDED = frozenset({"hive.default.nulls.last", "hive.support.quoted.identifiers"})
_OF_HIVE = ("hive.", "mapred.", "mapreduce.", "tez.", "yarn.", "metastore.", "io.", "dfs.")
# Settings that change rows, and the only value that acidsql supports.
_FIXED = {
    "hive.datetime.formatter": "DATETIME",
    "hive.groupby.position.alias": None,
    "hive.strict.timestamp.conversion": None,
}
_SHELL = {
    "!": "run commands of the system outside of SQL",
    "DFS": "use hdfs dfs outside of SQL",
    "SOURCE": "give the other file to acidsql -f, too",
    "COMPILE": "register functions with spark.udf.register",
    "RELOAD": "leave it out",
}


def translated(text: str) -> Translation | None:
    """Translate a command; return None if the text is SQL.

    Raises:
        AcidDialectError: the text is a command of Hive's shells, or an unsupported setting.
    """
    code = blank_comments(text, Lexis.HIVE)
    first = _COMMAND.match(code)
    word = first["word"].upper() if first else ""
    if first and word in _SHELL:
        raise unsupported(
            text,
            first.start("word"),
            problem=f"{word} is a command of Hive's shells",
            instead=_SHELL[word],
        )
    setting = _SET.fullmatch(code.rstrip())
    return _set(text, setting) if setting else None


def _set(text: str, setting: re.Match[str]) -> Translation:
    key = setting["key"].removeprefix("hiveconf:").removeprefix("hivevar:")
    value = setting["value"].strip()
    if key.startswith(("system:", "env:")):
        raise unsupported(
            text,
            setting.start("key"),
            problem=f"{key} cannot be set from SQL",
            instead="set it before the session starts",
        )
    expected = _FIXED.get(key)
    if expected is not None and value.upper() != expected:
        raise unsupported(
            text,
            setting.start("key"),
            problem=f"{key} is always {expected} here",
            instead="leave it out, and check what the statements after it give",
        )
    name = key if _PLAIN_KEY.fullmatch(key) else quote(key)
    ignored = key.startswith(_OF_HIVE) and key not in _HEEDED
    warnings = (f"{key} is kept and has no effect on Spark",) if ignored else ()
    return Translation(text=f"SET {name}={value}", warnings=warnings)
