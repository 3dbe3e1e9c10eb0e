"""Days where the calendars of files change.

Spark and Hive read ORC by the hybrid calendar. It is Julian before 1582-10-15 and Gregorian from
then on, and lacks the ten days before that day.
"""

from __future__ import annotations

FIRST_GREGORIAN_DAY = -141_427
"""1582-10-15, in days since 1970."""
FIRST_MISSING_DAY = FIRST_GREGORIAN_DAY - 10
"""First day that the hybrid calendar lacks, proleptic 1582-10-05, in days since 1970."""
