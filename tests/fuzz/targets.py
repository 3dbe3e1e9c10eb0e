"""Registry of the fuzzers' targets."""

from __future__ import annotations

from tests.fuzz.metastore_file import METASTORE
from tests.fuzz.names import DIRECTORIES, LISTS, NAMES
from tests.fuzz.orc_files import TAILS
from tests.fuzz.side_files import FILES
from tests.fuzz.statements import DIALECT, PARSER

TARGETS = {
    target.name: target
    for target in (PARSER, DIALECT, NAMES, DIRECTORIES, LISTS, TAILS, METASTORE, FILES)
}
