"""Spelling and comparison of names.

Hive keeps the names of databases, tables and columns in lower case (toLowerCase of Java's String),
and so do the directories of partitions and the files. Spark keeps the case of a column, and
compares names without it (equalsIgnoreCase, in the resolver of its analyser). The two rules differ:
the lower case of İ (U+0130) is two characters, which are not equal to İ.
"""

from __future__ import annotations


def lowered(name: str) -> str:
    """Return the name of a database, table or column in lower case, as Hive keeps it.

    >>> lowered("Culmen Length"), len(lowered("İ"))
    ('culmen length', 2)
    """
    return name.lower()


def folded(name: str) -> str:
    """Return what two names have in common that Spark takes for the same if case does not count.

    Java compares character by character: in upper case, then the lower case of these.

    >>> folded("Straße"), folded("İd"), folded("ıd"), folded("ID")
    ('straße', 'id', 'id', 'id')
    """
    return name.lower() if name.isascii() else "".join(map(_folded_character, name))


def _folded_character(character: str) -> str:
    upper = _single(character, character.upper(), character.title())
    return "i" if upper == "İ" else _single(upper, upper.lower())


def _single(character: str, *cases: str) -> str:
    """Return the first case of a character that is one character, else the character itself.

    Java compares characters only by these (toUpperCase of Character): ß stays ß.
    """
    return next((case for case in cases if len(case) == 1), character)
