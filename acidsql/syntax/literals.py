"""SQL literals, which write values into the text of statements and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

# A text of these characters needs no escapes, and contains no variables.
_PLAIN = re.compile(r"(?:[^'\\$\x00-\x1f\x7f]|\$(?!\{))*")
_ESCAPED = re.compile(r"['\\\x00\n\r]|\$(?=\{)")


def quoted_string(text: str) -> str:
    r"""Write a text as a string literal with backslash escapes.

    Use it for clauses that accept only a literal, such as COMMENT and LOCATION. In these clauses,
    Spark resolves escapes under every value of ``spark.sql.parser.escapedStringLiterals``, and it
    substitutes variables. For values in expressions, use ``values.literal``.

    >>> quoted_string("it's"), quoted_string("${x}")
    ("'it\\'s'", "'\\u0024{x}'")
    """
    return "'" + _ESCAPED.sub(_escape, text) + "'"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in "\\'":
        return f"\\{character}"
    return {"\n": "\\n", "\r": "\\r"}.get(character, f"\\u{ord(character):04x}")


def property_list(properties: Mapping[str, str]) -> str:
    """Write properties as the content of the parentheses of TBLPROPERTIES and DBPROPERTIES.

    >>> property_list({"transactional": "true", "a": "b"})
    "'transactional' = 'true', 'a' = 'b'"
    """
    return ", ".join(f"{quoted_string(k)} = {quoted_string(v)}" for k, v in properties.items())


def string_value(text: str) -> str:
    r"""Write a text as an expression that has the same value under all settings.

    Spark substitutes variables (``${env:HOME}``) everywhere in a statement, also in strings. With
    ``spark.sql.parser.escapedStringLiterals``, it reads backslashes literally.

    >>> string_value("abc")
    "'abc'"
    >>> string_value("it's")
    "CAST(X'69742773' AS STRING)"
    """
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


# Types that ``typed_literal`` supports, except DECIMAL.
_TYPED: dict[str, Callable[[object], str]] = {
    "TINYINT": "{}Y".format,
    "SMALLINT": "{}S".format,
    "INT": "{}".format,
    "BIGINT": "{}L".format,
    "DATE": "date_from_unix_date({})".format,
    "STRING": lambda value: string_value(str(value)),
}


def has_typed_literal(data_type: str) -> bool:
    """Return whether ``typed_literal`` supports a type: an integer, DATE, STRING or DECIMAL.

    ORC and Spark compare values of these types in the same way.
    """
    return data_type in _TYPED or data_type.startswith("DECIMAL")


def typed_literal(value: object, data_type: str) -> str:
    """Write a value as an expression of a type.

    Args:
        value: number or text; for a date, the days since 1970. None is NULL.
        data_type: type in SQL, for which ``has_typed_literal`` returns True.

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
