{{ config(
    materialized='incremental', incremental_strategy='append', on_schema_change='sync_all_columns'
) }}
{% if var('round') == 1 %}
select 1 as round, 'old' as gone, 10 as kept
{% else %}
select {{ var('round') }} as round, 20 as kept, 'new' as more
{% endif %}
