"""Commands: one module for each family of statements (statement → plan → events → commit)."""
