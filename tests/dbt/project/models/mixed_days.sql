{{ config(
    materialized='incremental',
    incremental_strategy='insert_overwrite',
    partition_by=['Day'],
    on_schema_change='sync_all_columns',
) }}
select {{ var('round') }} as Amount, date '2024-01-01' as Day
