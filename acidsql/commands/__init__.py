"""One module per family of statements: statement → plan → events → commit."""
