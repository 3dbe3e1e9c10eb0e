"""Command ``acidsql``, and ``python -m acidsql``."""

from __future__ import annotations

import sys

_WRONG_USAGE = 2


def main() -> None:
    """Run the shell or one of its commands.

    Its packages are an optional extra. If one is missing, a message says which extra to install.
    """
    try:
        from acidsql.repl.main import main as run  # noqa: PLC0415 - it may be missing
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "acidsql":
            raise
        sys.stderr.write(
            f"error: the command acidsql needs the package {error.name}: "
            "pip install 'acidsql[shell]'\n"
        )
        sys.exit(_WRONG_USAGE)
    run(prog_name="acidsql")


if __name__ == "__main__":
    main()
