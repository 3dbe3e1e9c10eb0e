"""Hive full-ACID (v2) ORC tables from PySpark: ``acidsql.sql(spark, "UPDATE t SET …")``."""

from acidsql.acid_table import AcidTable
from acidsql.api import location, release, run_cleaner, run_compaction, sql, table
from acidsql.enabled.switch import disable, enable
from acidsql.errors import AcidSqlError

__all__ = [
    "AcidSqlError",
    "AcidTable",
    "disable",
    "enable",
    "location",
    "release",
    "run_cleaner",
    "run_compaction",
    "sql",
    "table",
]
__version__ = "0.1.0"
