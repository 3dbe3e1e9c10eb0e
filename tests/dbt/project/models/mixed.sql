{{ config(materialized='incremental', unique_key='ID', on_schema_change='append_new_columns') }}
select 1 as Id, 'round {{ var('round') }}' as Amount
    {% if var('round') == 2 %}, 5 as `Un New` {% endif %}
