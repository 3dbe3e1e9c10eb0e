"""Structures and exceptions of ``hive_metastore.thrift``, as classes of the module ``hms``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import thriftpy2

hms: Any = thriftpy2.load(
    str(Path(__file__).with_name("hive_metastore.thrift")), "acidsql_hive_metastore_thrift"
)
