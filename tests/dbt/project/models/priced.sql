{{ config(materialized='table') }}
select id, customer, cast(amount * {{ var('factor', 1) }} as decimal(9,2)) as price
from {{ ref('stg_orders') }}
