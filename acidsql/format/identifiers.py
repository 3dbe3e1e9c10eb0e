"""Spelling and comparison of names.

Hive keeps the names of databases, tables and columns in lower case (toLowerCase of Java's String).
Directories of partitions and files use these names. Spark keeps the case of a column, and ignores
it in comparisons (equalsIgnoreCase, in the resolver of its analyser). The two rules differ: the
lower case of İ (U+0130) is two characters, which are not equal to İ.
"""

from __future__ import annotations


def lowered(name: str) -> str:
    """Return the name of a database, table or column in lower case, as Hive keeps it.

    >>> lowered("Culmen Length"), len(lowered("İ"))
    ('culmen length', 2)
    """
    return name.lower()


def folded(name: str) -> str:
    """Return a key that is equal for two names if Spark treats them as equal, ignoring case.

    Java compares names character by character, by the lower case of their upper case.

    >>> folded("Straße"), folded("İd"), folded("ıd"), folded("ID")
    ('straße', 'id', 'id', 'id')
    """
    return name.lower() if name.isascii() else "".join(map(_folded_character, name))


def _folded_character(character: str) -> str:
    upper = _single(character, character.upper(), character.title())
    return "i" if upper == "İ" else _single(upper, upper.lower())


def _single(character: str, *cases: str) -> str:
    """Return the first case of a character that is one character, or the character itself.

    Java only uses single characters in comparisons (toUpperCase of Character): ß remains ß.
    """
    return next((case for case in cases if len(case) == 1), character)
