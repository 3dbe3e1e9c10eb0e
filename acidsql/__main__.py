"""The shell as a module: ``python -m acidsql``."""

from __future__ import annotations

from acidsql.repl.main import main

if __name__ == "__main__":
    main(prog_name="acidsql")
