"""Compaction: the worker merges directories, the cleaner removes those that no reader needs."""
