{{ config(
    materialized='incremental', incremental_strategy='append', on_schema_change='fail'
) }}
select {{ var('round') }} as Amount, 'x' as `# Of`
