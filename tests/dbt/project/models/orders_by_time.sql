{{ config(
    materialized='incremental',
    incremental_strategy='microbatch',
    event_time='ordered_at',
    begin='2024-05-01',
    batch_size='day',
) }}
select id, status, ordered_at from {{ ref('stg_orders') }}
