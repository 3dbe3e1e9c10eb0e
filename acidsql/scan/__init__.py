"""Scans of ACID tables: snapshots of their directories, and the Spark plans that read these."""
