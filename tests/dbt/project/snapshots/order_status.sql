{% snapshot order_status %}
{{ config(
    unique_key='id', strategy='check', check_cols=['status'], hard_deletes='new_record'
) }}
select id, status from {{ ref('raw_orders') }}
{% endsnapshot %}
