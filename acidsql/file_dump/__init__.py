"""Look into the files of a table: what its directories and ORC files are, read by pyorc, as
Hive's ``--orcfiledump`` does.
"""
