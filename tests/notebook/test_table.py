from __future__ import annotations

from acidsql.notebook.table import ResultTable
from acidsql.repl.runner import Result

_RESULT = Result(
    columns=("id", "<b>name</b>"),
    numeric=(True, False),
    rows=((1, "Rex & <i>Co</i>"), (None, "NULL"), (3, True)),
    truncated=True,
)


def test_html_is_escaped_and_tells_null_from_a_word() -> None:
    assert ResultTable(_RESULT)._repr_html_() == (
        '<table class="dataframe">\n'
        "<thead>\n"
        '<tr><th style="text-align: right">id</th>'
        '<th style="text-align: left">&lt;b&gt;name&lt;/b&gt;</th></tr>\n'
        "</thead>\n"
        "<tbody>\n"
        '<tr><td style="text-align: right">1</td>'
        '<td style="text-align: left">Rex &amp; &lt;i&gt;Co&lt;/i&gt;</td></tr>\n'
        '<tr><td style="text-align: right"><em>NULL</em></td>'
        '<td style="text-align: left">NULL</td></tr>\n'
        '<tr><td style="text-align: right">3</td><td style="text-align: left">true</td></tr>\n'
        "</tbody>\n"
        "</table>\n"
        "<p>first 3 rows; there are more (change this with --limit)</p>"
    )


def test_plain_text_is_the_shell_s_table() -> None:
    assert repr(ResultTable(_RESULT)) == (
        "+------+-----------------+\n"
        "|   id | <b>name</b>     |\n"
        "|------+-----------------|\n"
        "|    1 | Rex & <i>Co</i> |\n"
        "| NULL | NULL            |\n"
        "|    3 | true            |\n"
        "+------+-----------------+\n"
        "first 3 rows; there are more (change this with --limit)"
    )


def test_a_plan_is_lines() -> None:
    rows = (("== Plan ==\n+- a < b\n",),)
    table = ResultTable(Result(columns=("plan",), numeric=(False,), rows=rows, truncated=False))
    assert repr(table) == "== Plan ==\n+- a < b"
    assert table._repr_html_() == "<pre>== Plan ==\n+- a &lt; b\n</pre>"


def test_a_statement_without_a_result() -> None:
    table = ResultTable(Result(columns=(), numeric=(), rows=(), truncated=False))
    assert (repr(table), table._repr_html_()) == ("OK", None)


def test_rows_can_be_taken_from_a_table() -> None:
    table = ResultTable(_RESULT)
    assert table.columns == ("id", "<b>name</b>")
    assert table.rows[0] == (1, "Rex & <i>Co</i>")
