"""Embedded metastore: one SQLite file for the processes of one machine."""
