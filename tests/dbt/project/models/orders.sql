{{ config(
    materialized='incremental',
    unique_key='id',
    merge_exclude_columns=['first_round'],
    on_schema_change='append_new_columns',
) }}
select id, status, {{ var('round') }} as first_round
    {% if var('round') == 2 %}, note {% endif %}
from {{ ref('stg_orders') }}
