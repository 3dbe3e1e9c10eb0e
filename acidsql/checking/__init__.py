"""Checking of a table: what is wrong with its names, its files and its rows."""
