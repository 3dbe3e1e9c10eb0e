"""SQL literals: values as they are written into the text of statements and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

# What a text may consist of so that its literal has no escapes and no variables in it.
_PLAIN = re.compile(r"(?:[^'\\$\x00-\x1f\x7f]|\$(?!\{))*")
_ESCAPED = re.compile(r"['\\\x00\n\r]|\$(?=\{)")


def quoted_string(text: str) -> str:
    r"""Write a text as a string literal with backslash escapes.

    It is for clauses that take a literal and no other expression, such as COMMENT and LOCATION; in
    those Spark knows escapes whatever ``spark.sql.parser.escapedStringLiterals`` says, but
    substitutes variables. Values in expressions are written by ``values.literal``.

    >>> quoted_string("it's"), quoted_string("${x}")
    ("'it\\'s'", "'\\u0024{x}'")
    """
    return "'" + _ESCAPED.sub(_escape, text) + "'"


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in "\\'":
        return f"\\{character}"
    return {"\n": "\\n", "\r": "\\r"}.get(character, f"\\u{ord(character):04x}")


def property_list(properties: Mapping[str, str]) -> str:
    """Write properties as TBLPROPERTIES and DBPROPERTIES have them between their parentheses.

    >>> property_list({"transactional": "true", "a": "b"})
    "'transactional' = 'true', 'a' = 'b'"
    """
    return ", ".join(f"{quoted_string(k)} = {quoted_string(v)}" for k, v in properties.items())


def string_value(text: str) -> str:
    r"""Write a text as an expression that has the same value under all settings.

    Spark substitutes variables (``${env:HOME}``) in a statement, in its strings too, and
    ``spark.sql.parser.escapedStringLiterals`` makes it take backslashes literally.

    >>> string_value("abc")
    "'abc'"
    >>> string_value("it's")
    "CAST(X'69742773' AS STRING)"
    """
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


# Types, but for DECIMAL, whose values ``typed_literal`` writes.
_TYPED: dict[str, Callable[[object], str]] = {
    "TINYINT": "{}Y".format,
    "SMALLINT": "{}S".format,
    "INT": "{}".format,
    "BIGINT": "{}L".format,
    "DATE": "date_from_unix_date({})".format,
    "STRING": lambda value: string_value(str(value)),
}


def has_typed_literal(data_type: str) -> bool:
    """Return whether ``typed_literal`` writes values of a type: an integer, DATE, STRING, DECIMAL.

    ORC and Spark compare values of these types alike.
    """
    return data_type in _TYPED or data_type.startswith("DECIMAL")


def typed_literal(value: object, data_type: str) -> str:
    """Write a value as an expression of a type.

    Args:
        value: number or text; of a date, days since 1970. None is NULL.
        data_type: as SQL, such that ``has_typed_literal``.

    >>> typed_literal(7, "BIGINT"), typed_literal(1, "DATE")
    ('7L', 'date_from_unix_date(1)')
    >>> typed_literal(None, "DECIMAL(5,2)")
    'CAST(NULL AS DECIMAL(5,2))'
    """
    write = _TYPED.get(data_type)
    if value is None or write is None:  # NULL, DECIMAL
        written = "NULL" if value is None else str(value)
        return f"CAST({written} AS {data_type})"
    return write(value)
