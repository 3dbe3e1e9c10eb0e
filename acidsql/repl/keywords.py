"""Keywords of statements, and the keywords that can follow the typed text."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.repl.tokens import Token, TokenKind

MORE_KEYWORDS = frozenset(
    {"ALWAYS", "CONSTRAINT", "EVOLUTION", "FOREIGN", "GENERATED", "KEY", "PRIMARY", "REFERENCES"}
    | {"IDENTITY", "INCREMENT", "RETAIN", "SCHEMA", "SYNC", "UNIQUE"}
    | {"BEGIN", "BUCKETS", "CHECK", "CLONE", "CLUSTERED", "COMMIT", "COMPACT", "COMPACTIONS"}
    | {"EXPORT", "HEALTH", "HISTORY", "IMPORT", "LOCATION", "MAJOR", "MATCHED", "MERGE", "MINOR"}
    | {"ORC", "OVERWRITE", "PARTITION", "PARTITIONED", "PARTITIONS", "REPAIR", "RESTORE"}
    | {"ROLLBACK", "ROW__ID", "SHOW", "SOURCE", "START", "STORED", "TARGET", "TBLPROPERTIES"}
    | {"TAG", "TAGS", "TRANSACTION", "UNDO", "VERSION", "WAIT", "WRITE", "ZORDER"}
)
"""Words of Spark's, Hive's and acidsql's SQL that are not in standard SQL or in Spark's list."""

STATEMENTS = (
    *("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "CREATE", "ALTER", "DROP", "SHOW"),
    *("DESCRIBE", "EXPLAIN", "USE", "SET", "RESET", "TRUNCATE", "ANALYZE", "REFRESH", "VALUES"),
    *("FROM", "LOAD", "EXPORT", "IMPORT", "CHECK", "RESTORE", "UNDO", "MSCK", "OPTIMIZE", "VACUUM"),
    *("START", "BEGIN", "COMMIT", "ROLLBACK", "ABORT", "KILL", "CACHE", "UNCACHE", "CLEAR"),
    *("DECLARE", "EXECUTE", "REPLACE"),
)
"""Words that begin a statement, the most common ones first."""

_OPERATORS = ("AND", "OR", "IS", "IN", "LIKE", "BETWEEN", "NOT")
_EXPRESSION = (
    *("CASE", "CAST", "NULL", "NOT", "EXISTS", "TRUE", "FALSE", "DATE", "TIMESTAMP", "INTERVAL"),
    *("DISTINCT", "DEFAULT"),
)
_JOINS = ("JOIN", "LEFT", "INNER", "RIGHT", "FULL", "CROSS", "ANTI", "SEMI", "LATERAL")
_ENDS = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "EXCEPT", "INTERSECT", "QUALIFY")

_DESCRIBED = ("HISTORY", "HEALTH", "DETAIL", "EXTENDED", "FORMATTED", "TABLE", "DATABASE", "QUERY")
# Words that can follow a word directly, in any statement.
_BEHIND_WORD = {
    "ALTER": ("TABLE", "VIEW", "DATABASE"),
    "ANALYZE": ("TABLE", "TABLES"),
    "CHECK": ("TABLE",),
    "CLUSTERED": ("BY",),
    "COMPACT": ("'major'", "'minor'", "'rebalance'"),
    "CREATE": (
        *("TABLE", "VIEW", "TEMPORARY", "OR", "DATABASE", "EXTERNAL", "TRANSACTIONAL", "FUNCTION"),
    ),
    "CROSS": ("JOIN",),
    "DELETE": ("FROM",),
    "DESC": _DESCRIBED,
    "DESCRIBE": _DESCRIBED,
    "DISTRIBUTE": ("BY",),
    "DROP": (
        "TABLE",
        "VIEW",
        "DATABASE",
        "PARTITION",
        "FUNCTION",
        "TEMPORARY",
        "COLUMN",
        "CONSTRAINT",
        "TAG",
        "IF",
    ),
    "EXPLAIN": ("EXTENDED", "FORMATTED", "CODEGEN", "COST", *STATEMENTS),
    "CONSTRAINT": ("IF",),
    "EXPORT": ("TABLE",),
    "FOREIGN": ("KEY",),
    "FULL": ("OUTER", "JOIN"),
    "GROUP": ("BY",),
    "INNER": ("JOIN",),
    "INSERT": ("INTO", "OVERWRITE"),
    "INTO": ("TABLE",),
    "IS": ("NULL", "NOT", "DISTINCT"),
    "LEFT": ("JOIN", "OUTER", "SEMI", "ANTI"),
    "LOAD": ("DATA",),
    "MERGE": ("INTO",),
    "MSCK": ("REPAIR",),
    "NATURAL": ("JOIN",),
    "ORDER": ("BY",),
    "OUTER": ("JOIN",),
    "OVERWRITE": ("TABLE",),
    "PARTITIONED": ("BY",),
    "PRIMARY": ("KEY",),
    "REFRESH": ("TABLE",),
    "REPAIR": ("TABLE",),
    "REPLACE": ("TABLE",),
    "RESTORE": ("TABLE",),
    "RIGHT": ("JOIN", "OUTER"),
    "ROW": ("FORMAT",),
    "SHOW": (
        *("TABLES", "DATABASES", "COLUMNS", "PARTITIONS", "VIEWS", "FUNCTIONS", "CREATE"),
        *("TBLPROPERTIES", "COMPACTIONS", "TRANSACTIONS", "LOCKS", "TAGS", "TABLE"),
    ),
    "SORT": ("BY",),
    "TABLE": ("IF",),
    "START": ("TRANSACTION",),
    "STORED": ("AS",),
    "TAG": ("IF",),
    "TAGS": ("IN",),
    "TRUNCATE": ("TABLE",),
    "UNDO": ("WRITE",),
    "UNION": ("ALL", "SELECT", "DISTINCT"),
    "WITHIN": ("GROUP",),
    "ZORDER": ("BY",),
}
# Words that can follow a word directly in one kind of statement, by the statement's first word.
_BEHIND_WORD_IN = {
    ("INSERT", "SCHEMA"): ("EVOLUTION",),
    ("INSERT", "EVOLUTION"): ("INTO", "OVERWRITE"),
    ("MERGE", "WITH"): ("SCHEMA",),
    ("MERGE", "SCHEMA"): ("EVOLUTION",),
    ("MERGE", "EVOLUTION"): ("INTO",),
    ("MERGE", "WHEN"): ("MATCHED", "NOT"),
    ("MERGE", "NOT"): ("MATCHED",),
    ("MERGE", "MATCHED"): ("THEN", "AND", "BY"),
    ("MERGE", "BY"): ("SOURCE", "TARGET"),
    ("MERGE", "SOURCE"): ("THEN", "AND"),
    ("MERGE", "TARGET"): ("THEN", "AND"),
    ("MERGE", "THEN"): ("UPDATE", "DELETE", "INSERT"),
    ("MERGE", "UPDATE"): ("SET",),
    ("MERGE", "DELETE"): ("WHEN",),
    ("MERGE", "INSERT"): ("VALUES",),
    ("INSERT", "REPLACE"): ("WHERE", "USING", "ON"),
    ("CREATE", "AS"): ("SELECT", "ORC", "WITH"),
    ("CREATE", "ORC"): ("TBLPROPERTIES", "LOCATION", "AS"),
    ("CREATE", "OR"): ("REPLACE",),
    ("CREATE", "REPLACE"): ("TABLE", "VIEW", "TEMPORARY"),
    ("CREATE", "TEMPORARY"): ("TABLE", "VIEW", "FUNCTION"),
    ("CREATE", "TRANSACTIONAL"): ("TABLE",),
    ("CREATE", "EXTERNAL"): ("TABLE",),
    ("ALTER", "SET"): ("TBLPROPERTIES",),
    ("ALTER", "UNSET"): ("TBLPROPERTIES",),
    ("ALTER", "ADD"): (
        *("COLUMNS", "PARTITION", "IF", "CONSTRAINT", "CHECK", "PRIMARY", "UNIQUE", "FOREIGN"),
    ),
    ("CREATE", "GENERATED"): ("ALWAYS", "BY"),
    ("CREATE", "ALWAYS"): ("AS",),
    ("CREATE", "START"): ("WITH",),
    ("CREATE", "INCREMENT"): ("BY",),
    ("ALTER", "SYNC"): ("IDENTITY",),
    ("ALTER", "CREATE"): ("TAG",),
    ("ALTER", "RENAME"): ("TO", "COLUMN"),
    ("ALTER", "CHANGE"): ("COLUMN",),
    ("SHOW", "CREATE"): ("TABLE",),
    ("ANALYZE", "COMPUTE"): ("STATISTICS",),
}
# Words that can follow two words directly.
_BEHIND_WORDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("GENERATED", "BY"): ("DEFAULT",),
    ("BY", "DEFAULT"): ("AS",),
    ("ALWAYS", "AS"): ("IDENTITY",),
    ("DEFAULT", "AS"): ("IDENTITY",),
    ("IDENTITY", "("): ("START", "INCREMENT"),
}
# Words that can follow an operand, by the word that begins its clause.
_CLAUSES: dict[str, tuple[str, ...]] = {
    "SELECT": ("FROM", "AS", *_OPERATORS, "OVER", "WHERE", *_ENDS),
    "FROM": ("WHERE", "AS", *_JOINS, "ON", *_ENDS, "VERSION", "TIMESTAMP", "TABLESAMPLE", "PIVOT"),
    "JOIN": ("ON", "AS", "USING", *_JOINS, "WHERE", *_ENDS),
    "USING": ("ON", "AS"),
    "ON": (*_OPERATORS, "WHEN", *_JOINS, "WHERE", *_ENDS),
    "WHERE": (*_OPERATORS, *_ENDS),
    "HAVING": (*_OPERATORS, "ORDER", "LIMIT"),
    "BY": ("ASC", "DESC", "HAVING", "NULLS", "LIMIT", "WINDOW", "ORDER", "ROWS", "RANGE", "INTO"),
    "INTO": ("VALUES", "SELECT", "USING", "PARTITION", "AS", "BUCKETS", "TABLE", "REPLACE"),
    "OVERWRITE": ("SELECT", "VALUES", "PARTITION", "TABLE"),
    "UPDATE": ("SET", "AS"),
    "SET": ("WHERE", "WHEN", *_OPERATORS),
    "WHEN": ("THEN", *_OPERATORS),
    "THEN": ("WHEN", "ELSE", "END", *_OPERATORS),
    "ELSE": ("END", *_OPERATORS),
    "VALUES": ("WHEN", "AS"),
    "LIMIT": ("OFFSET",),
    "ALTER": (
        *("ADD", "COMPACT", "SET", "UNSET", "RENAME", "CHANGE", "DROP", "PARTITION", "REPLACE"),
        *("RECOVER", "AND", "WAIT", "COLUMNS", "COLUMN", "CLUSTERED", "CREATE", "TAG", "OF"),
        *("VERSION", "RETAIN", "DAYS", "SYNC"),
    ),
    "CREATE": (
        *("STORED", "PARTITIONED", "CLUSTERED", "TBLPROPERTIES", "AS", "LIKE", "COMMENT"),
        *("LOCATION", "CLONE", "IF", "NOT", "EXISTS"),
    ),
    "ANALYZE": ("COMPUTE", "PARTITION", "FOR", "COLUMNS"),
    "CHECK": ("FAST", "FULL", "REPAIR", "DRY", "RUN"),
    "OPTIMIZE": ("ZORDER",),
    "RESTORE": ("TO", "VERSION", "TIMESTAMP", "AS", "OF"),
    "UNDO": ("OF", "TABLE"),
    "SHOW": ("IN", "LIKE", "FROM", "PARTITION"),
    "LOAD": ("INPATH", "LOCAL", "INTO", "OVERWRITE"),
}
_BEFORE_OPERAND = frozenset(
    {"ALL", "AND", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "HAVING", "IN", "LIKE", "NOT"}
    | {"ON", "OR", "QUALIFY", "SELECT", "SET", "THEN", "WHEN", "WHERE", "COLUMN", "OVER"}
)
_OPERATOR_SYMBOLS = frozenset("(,=<>+-*/%|&!~^[")


def verb(before: Sequence[Token]) -> str:
    """Return the first word of a statement; after EXPLAIN, of the explained statement."""
    skipped = ("EXPLAIN", "EXTENDED", "FORMATTED", "CODEGEN", "COST")
    words = (token for token in before if not token.is_word(*skipped))
    return next((token.text.upper() for token in words), "")


def clause(before: Sequence[Token], depth: int) -> str:
    """Return the last word that begins a clause in the current parentheses, or ""."""
    for token in reversed(before):
        if token.depth < depth:
            return ""
        if token.depth == depth and token.is_word(*_CLAUSES):
            return token.text.upper()
    return ""


def expects_operand(before: Sequence[Token]) -> bool:
    """Return whether a column, a function or another operand can follow."""
    if not before:
        return False
    last = before[-1]
    if last.kind is TokenKind.SYMBOL:
        return last.text in _OPERATOR_SYMBOLS
    return last.is_word(*_BEFORE_OPERAND)


def following_word(before: Sequence[Token]) -> tuple[str, ...]:
    """Return the keywords that can follow the last two words."""
    pair = tuple(token.text.upper() for token in before[-2:])
    if pair in _BEHIND_WORDS:
        return _BEHIND_WORDS[pair]
    if not before or before[-1].kind is not TokenKind.WORD:
        return ()
    word = before[-1].text.upper()
    if word == "DESC" and len(before) > 1:  # DESC of ORDER BY
        return ()
    return _BEHIND_WORD_IN.get((verb(before), word)) or _BEHIND_WORD.get(word, ())


def named_behind(before: Sequence[Token]) -> str | None:
    """Return the kind of name that ALTER TABLE … DROP expects after the last word.

    It is ``CONSTRAINT`` or ``TAG``, or None if neither is expected.
    """
    words = [token.text.upper() for token in before]
    if words[-2:] == ["IF", "EXISTS"]:
        words = words[:-2]
    if verb(before) != "ALTER" or words[-2:-1] != ["DROP"]:
        return None
    return words[-1] if words[-1] in ("CONSTRAINT", "TAG") else None


def following(before: Sequence[Token], depth: int) -> tuple[str, ...]:
    """Return the keywords that can follow, the most common ones first; none if they are not known.

    Args:
        before: tokens of the statement before the current word.
        depth: number of parentheses that are open there.
    """
    if not before:
        return STATEMENTS
    keywords = following_word(before)
    if keywords:
        return keywords
    last = before[-1]
    if expects_operand(before):
        is_query = last.text == "("
        return (*(("SELECT", "WITH") if is_query else ()), *_EXPRESSION)
    if last.text == ")" and not depth and verb(before) == "WITH" and not clause(before, 0):
        return ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE")
    return _CLAUSES.get(clause(before, depth) or verb(before), ())
