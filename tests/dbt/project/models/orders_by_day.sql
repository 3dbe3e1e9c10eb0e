{{ config(
    materialized='incremental', incremental_strategy='insert_overwrite', partition_by='day'
) }}
select id, day from {{ ref('stg_orders') }}
