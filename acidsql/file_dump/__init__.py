"""Inspection of a table's directories and ORC files by pyorc, like Hive's ``--orcfiledump``."""
