{{ config(
    materialized='incremental', incremental_strategy='delete+insert', unique_key='customer'
) }}
select customer, id, status
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where customer in (select customer from {{ this }})
{% endif %}
