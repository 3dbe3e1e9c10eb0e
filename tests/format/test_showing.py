"""What Python and notebooks show of values."""

from __future__ import annotations

from acidsql import Health, StatementMetrics
from acidsql.format.showing import changed_fields, html_table, short


def test_only_what_is_not_the_default_is_told() -> None:
    health = Health(partition="p=1", deltas=2, advice=("compact <it>",))
    assert changed_fields(health) == {"partition": "p=1", "deltas": 2, "advice": ("compact <it>",)}
    assert repr(health) == "Health(partition='p=1', deltas=2, advice=('compact <it>',))"
    assert "compact &lt;it&gt;" in health._repr_html_()
    assert repr(Health()) == short(Health()) == "Health()"


def test_metrics_show_what_a_statement_did() -> None:
    metrics = StatementMetrics(operation="UPDATE", rows_updated=3, seconds={"plan": 0.5})
    assert repr(metrics) == (
        "StatementMetrics(operation='UPDATE', rows_updated=3, seconds={'plan': 0.5})"
    )
    assert metrics._repr_html_() == html_table(changed_fields(metrics))
    assert metrics == StatementMetrics(operation="UPDATE", rows_updated=3, seconds={"plan": 0.5})
