"""Texts that a way of putting values into statements may take for something else."""

from __future__ import annotations

SETTING, SET_TO = "my.setting", "x'), ('injected', 99, 'y"
"""Setting of Spark that ``${my.setting}`` names, and its value."""

NASTY = (
    "",
    " ",
    "'",
    "''",
    '"',
    "`",
    "\\",
    "\\\\",
    "\\'",
    "'; DROP TABLE t; --",
    "--",
    "-- x\n'",
    "/* x */",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\x001",
    "\x01\x1a\x7f",
    "${env:HOME}",
    "${system:user.home}",
    f"${{{SETTING}}}",
    f"${{spark:{SETTING}}}",
    f"${{hiveconf:{SETTING}}}",
    f"'${{hivevar:{SETTING}}}'",
    f"\\${{{SETTING}}}",
    f"$${{{SETTING}}}",
    "$",
    "${",
    "{x}",
    "{{",
    ":v",
    "?",
    "%s %(v)s %%",
    "\\%\\_",
    "\\u0041\\n\\101",
    "r'x' X'41'",
    "é😀",
    "\u202e\ufeff\u2028",
    "NULL",
)
"""Texts."""
