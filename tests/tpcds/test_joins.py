from __future__ import annotations

from tpcds_bench.joins import Comparison, Join, QueryJoins, joins_of, passed

PLAN = """== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=false
+- SortMergeJoin [ss_item_sk#12, ss_ticket_number#20L], [sr_item_sk#1, sr_ticket#2L], LeftOuter
   :- Sort [ss_item_sk#12 ASC NULLS FIRST], false, 0
   :  +- BroadcastHashJoin [d_date_sk#7], [ss_sold_date_sk#9], Inner, BuildLeft, false
   :     :- Filter (d_year#8 = 2000)
   +- BroadcastHashJoin [knownnullable(_extract_i_item_id#3)], [i_item_id#4], LeftSemi, BuildRight
      +- BroadcastNestedLoopJoin BuildRight, Inner, (a#1 > b#2)
"""


def test_joins_are_read_from_a_plan() -> None:
    assert joins_of(PLAN) == (
        Join(
            operator="SortMergeJoin",
            type="LeftOuter",
            build="",
            keys="[ss_item_sk, ss_ticket_number], [sr_item_sk, sr_ticket]",
        ),
        Join(
            operator="BroadcastHashJoin",
            type="Inner",
            build="Left",
            keys="[d_date_sk], [ss_sold_date_sk]",
        ),
        Join(
            operator="BroadcastHashJoin",
            type="LeftSemi",
            build="Right",
            keys="[i_item_id], [i_item_id]",
        ),
        Join(operator="BroadcastNestedLoopJoin", type="Inner", build="Right", keys="BuildRight"),
    )


def test_at_most_three_queries_may_differ() -> None:
    one, other = joins_of(PLAN), joins_of(PLAN.replace("BuildLeft", "BuildRight"))

    def comparison(different: int, *, cost_based: bool = False) -> Comparison:
        found = tuple(
            QueryJoins(query=n, acid=one, flat=other if n <= different else one)
            for n in range(1, 6)
        )
        return Comparison(cost_based=cost_based, found=found)

    assert passed([comparison(3), comparison(5, cost_based=True)])
    assert not passed([comparison(4)])
