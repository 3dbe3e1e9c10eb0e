"""Deleted rows in a scan: they are filtered out by a delete bitmap, or by an anti-join."""
