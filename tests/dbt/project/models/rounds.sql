{{ config(materialized='incremental') }}
select {{ var('round') }} as round, max(id) as last_id from {{ ref('stg_orders') }}
