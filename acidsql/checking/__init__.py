"""Check of a table for problems with its names, files and rows."""
