{{ config(materialized='view', event_time='ordered_at') }}
select id, customer, status, amount, ordered_at, cast(ordered_at as date) as day, note
from {{ ref('raw_orders') }}
