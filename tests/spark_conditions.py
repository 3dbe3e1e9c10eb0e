"""The conditions of the Spark that is installed."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyspark


@cache
def conditions() -> dict[str, Any]:
    """Their entries in Spark's own list, by name."""
    (jar,) = Path(pyspark.__path__[0], "jars").glob("spark-common-utils_*.jar")
    with ZipFile(jar) as files:
        names = set(files.namelist()) & {"error/error-conditions.json", "error/error-classes.json"}
        found: dict[str, Any] = json.loads(files.read(max(names)))  # 4.x has both
    return found


def sqlstates() -> dict[str, str]:
    """The SQLSTATEs of those that have one."""
    return {n: c["sqlState"] for n, c in conditions().items() if "sqlState" in c}


def parameters(name: str) -> set[str]:
    """The names of the values in the message of a condition."""
    found = conditions()[name]
    texts = [found["message"], *(c["message"] for c in found.get("subClass", {}).values())]
    return set(re.findall(r"<(\w+)>", " ".join(line for text in texts for line in text)))
