"""Days between the calendars of files: the hybrid one, by which Spark and Hive read ORC, is Julian
before 1582-10-15 and Gregorian from then on, and lacks the ten days before it.
"""

from __future__ import annotations

FIRST_GREGORIAN_DAY = -141_427
"""Days since 1970 of 1582-10-15."""
FIRST_MISSING_DAY = FIRST_GREGORIAN_DAY - 10
"""Days since 1970 of 1582-10-05, the first that the hybrid calendar lacks, by the proleptic one."""
