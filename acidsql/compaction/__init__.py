"""Compaction: the worker merges a partition's directories, the cleaner removes those nobody needs.
"""
