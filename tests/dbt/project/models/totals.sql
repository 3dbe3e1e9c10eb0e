{{ config(materialized='table', tblproperties={'orc.compress': 'zlib'}) }}
select count(*) as n {% if var('round') == 2 %}, max(amount) as largest {% endif %}
from {{ ref('stg_orders') }}
