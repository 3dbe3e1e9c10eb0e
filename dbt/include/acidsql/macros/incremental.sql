{#- Incremental models: each strategy is one statement, or one transaction. -#}

{% materialization incremental, adapter='acidsql', supported_languages=['sql'] -%}
  {%- if not acidsql_is_transactional() -%}
    {{ return(materialization_incremental_spark()) }}
  {%- endif -%}
  {%- do acidsql_refuse_grants() -%}
  {%- set target = this.incorporate(type='table') -%}
  {%- set existing = load_relation(this) -%}
  {%- set unique_key = config.get('unique_key') -%}
  {%- set strategy = config.get('incremental_strategy') or 'default' -%}
  {%- set strategy_macro = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(
    config.get('on_schema_change'), default='ignore'
  ) -%}

  {{ run_hooks(pre_hooks) }}

  {%- if existing is none or existing.is_view or should_full_refresh() -%}
    {%- do acidsql_build_table(target, existing, compiled_code) -%}
  {%- else -%}
    {%- set staged = make_temp_relation(target).incorporate(type='view') -%}
    {%- call statement('stage') -%}
      {{ create_table_as(True, staged, compiled_code) }}
    {%- endcall -%}
    {%- set evolves = false -%}
    {%- if on_schema_change == 'append_new_columns'
        and strategy in ['default', 'append', 'merge', 'delete+insert'] -%}
      {%- set changes = check_for_schema_changes(staged, existing) -%}
      {%- set columns = changes['source_columns'] -%}
      {%- set evolves = changes['source_not_in_target'] | length > 0 -%}
    {%- else -%}
      {%- set columns = process_schema_changes(on_schema_change, staged, existing) -%}
      {%- if not columns -%}
        {%- set columns = adapter.get_columns_in_relation(existing) -%}
      {%- endif -%}
    {%- endif -%}
    {%- set statements = strategy_macro({
      'target_relation': target,
      'temp_relation': staged,
      'unique_key': unique_key,
      'dest_columns': columns,
      'incremental_predicates':
        config.get('predicates', none) or config.get('incremental_predicates', none),
      'evolves': evolves,
    }) -%}
    {%- do acidsql_run([statements] if statements is string else statements) -%}
  {%- endif -%}

  {%- do persist_docs(target, model) -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target]}) }}
{%- endmaterialization %}


{#- What on_schema_change compares: names are the same in any case. -#}
{% macro acidsql__check_for_schema_changes(source_relation, target_relation) -%}
  {%- set target_columns = adapter.get_columns_in_relation(target_relation) -%}
  {%- set source_columns = adapter.named_alike(
    adapter.get_columns_in_relation(source_relation), target_columns
  ) -%}
  {%- set added = diff_columns(source_columns, target_columns) -%}
  {%- set removed = diff_columns(target_columns, source_columns) -%}
  {%- set types = diff_column_data_types(source_columns, target_columns) -%}
  {{ return({
    'schema_changed': (added or removed or types) | length > 0,
    'source_not_in_target': added,
    'target_not_in_source': removed,
    'source_columns': source_columns,
    'target_columns': target_columns,
    'new_target_types': types,
  }) }}
{%- endmacro %}


{#- Runs statements, several of them as one transaction; the last one is the model's. -#}
{% macro acidsql_run(statements) -%}
  {%- if statements | length > 1 -%}
    {%- call statement('start_transaction', auto_begin=False) -%} start transaction {%- endcall -%}
  {%- endif -%}
  {%- for text in statements -%}
    {%- call statement('main' if loop.last else 'part') -%} {{ text }} {%- endcall -%}
  {%- endfor -%}
  {%- if statements | length > 1 -%}
    {%- call statement('commit', auto_begin=False) -%} commit {%- endcall -%}
  {%- endif -%}
{%- endmacro %}


{% macro acidsql__get_incremental_default_sql(arg_dict) -%}
  {%- if arg_dict['unique_key'] -%}
    {{ return(get_incremental_merge_sql(arg_dict)) }}
  {%- else -%}
    {{ return(get_incremental_append_sql(arg_dict)) }}
  {%- endif -%}
{%- endmacro %}


{% macro acidsql__get_incremental_append_sql(arg_dict) -%}
  {{ return(acidsql_insert(
    arg_dict['target_relation'],
    arg_dict['temp_relation'],
    arg_dict['dest_columns'],
    arg_dict.get('evolves', false),
  )) }}
{%- endmacro %}


{#- Where columns are new, they come with the rows, in one commit. -#}
{% macro acidsql_evolution(evolves) -%}
  {{ 'with schema evolution ' if evolves }}
{%- endmacro %}


{% macro acidsql_insert(target, source, dest_columns, evolves=false) -%}
  {%- set names = dest_columns | map(attribute='quoted') | join(', ') -%}
  insert {{ acidsql_evolution(evolves) -}}
  into table {{ target }} ({{ names }}) select {{ names }} from {{ source }}
{%- endmacro %}


{#- Conditions under which a row of the target has the key of a row of the source. -#}
{% macro acidsql_matches(unique_key, predicates) -%}
  {%- set conditions = (predicates or []) | list -%}
  {%- for key in ([unique_key] if unique_key is string else unique_key) -%}
    {%- do conditions.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {{ return('(' ~ conditions | join(') and (') ~ ')') }}
{%- endmacro %}


{% macro acidsql__get_incremental_merge_sql(arg_dict) -%}
  {{ return(acidsql__get_merge_sql(
    arg_dict['target_relation'],
    arg_dict['temp_relation'],
    arg_dict['unique_key'],
    arg_dict['dest_columns'],
    arg_dict['incremental_predicates'],
    arg_dict.get('evolves', false),
  )) }}
{%- endmacro %}


{% macro acidsql__get_merge_sql(
  target, source, unique_key, dest_columns, incremental_predicates=none, evolves=false
) -%}
  {%- if not unique_key -%}
    {{ return(acidsql_insert(target, source, dest_columns, evolves)) }}
  {%- endif -%}
  {%- set updated = get_merge_update_columns(
    config.get('merge_update_columns'), config.get('merge_exclude_columns'), dest_columns
  ) or dest_columns | map(attribute='quoted') | list -%}
  merge {{ acidsql_evolution(evolves) -}}
  into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ acidsql_matches(unique_key, incremental_predicates) }}
  when matched then update set
    {%- for column in updated %}
    {{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
  when not matched then insert ({{ dest_columns | map(attribute='quoted') | join(', ') }})
  values (
    {%- for column in dest_columns -%}
    DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ', ' if not loop.last }}
    {%- endfor -%}
  )
{%- endmacro %}


{#-
  delete+insert: rows of the target whose key the source has are deleted, all rows of the source are
  inserted; keys need not be unique. One MERGE, so that a query that reads the target itself is of
  the state before both: its source has each row to insert, and each key to delete once more.
-#}
{% macro acidsql__get_incremental_delete_insert_sql(arg_dict) -%}
  {{ return(acidsql__get_delete_insert_merge_sql(
    arg_dict['target_relation'],
    arg_dict['temp_relation'],
    arg_dict['unique_key'],
    arg_dict['dest_columns'],
    arg_dict['incremental_predicates'],
    arg_dict.get('evolves', false),
  )) }}
{%- endmacro %}


{% macro acidsql__get_delete_insert_merge_sql(
  target, source, unique_key, dest_columns, incremental_predicates, evolves=false
) -%}
  {%- if not unique_key -%}
    {{ return(acidsql_insert(target, source, dest_columns, evolves)) }}
  {%- endif -%}
  {%- set keys = ([unique_key] if unique_key is string else unique_key) | map('lower') | list -%}
  merge {{ acidsql_evolution(evolves) -}}
  into {{ target }} as DBT_INTERNAL_DEST
  using (
    select true as dbt_internal_new
      {%- for column in dest_columns %}, {{ column.quoted }}{% endfor %}
    from {{ source }}
    union all
    select distinct false
      {%- for column in dest_columns %}, {{ column.quoted if column.name | lower in keys else 'null' }}
      {%- endfor %}
    from {{ source }}
  ) as DBT_INTERNAL_SOURCE
  on not DBT_INTERNAL_SOURCE.dbt_internal_new
    and {{ acidsql_matches(unique_key, incremental_predicates) }}
  when matched then delete
  when not matched and DBT_INTERNAL_SOURCE.dbt_internal_new
  then insert ({{ dest_columns | map(attribute='quoted') | join(', ') }})
  values (
    {%- for column in dest_columns -%}
    DBT_INTERNAL_SOURCE.{{ column.quoted }}{{ ', ' if not loop.last }}
    {%- endfor -%}
  )
{%- endmacro %}


{#- Replaces the partitions that get rows, or all rows of a table without partitions. -#}
{% macro acidsql__get_insert_overwrite_merge_sql(
  target, source, dest_columns, predicates, include_sql_header=false
) -%}
  {%- set existing = adapter.get_columns_in_relation(target) -%}
  insert overwrite table {{ target }}
  {{ partition_cols(label='partition') }}
  select {{ existing | map(attribute='quoted') | join(', ') }} from {{ source }}
{%- endmacro %}


{#- Replaces the rows of the batch's time, in one transaction. -#}
{% macro acidsql__get_incremental_microbatch_sql(arg_dict) -%}
  {%- set column = config.get('event_time') -%}
  {%- set conditions = (arg_dict['incremental_predicates'] or []) | list -%}
  {%- for key, operator in [('start', '>='), ('end', '<')] -%}
    {%- set moment = model.config.get('__dbt_internal_microbatch_event_time_' ~ key) -%}
    {%- if moment -%}
      {%- do conditions.append(column ~ ' ' ~ operator ~ " cast('" ~ moment ~ "' as timestamp)") -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set target = arg_dict['target_relation'] -%}
  {{ return([
    'delete from ' ~ target ~ ' as DBT_INTERNAL_DEST where (' ~ conditions | join(') and (') ~ ')',
    acidsql_insert(target, arg_dict['temp_relation'], arg_dict['dest_columns']),
  ]) }}
{%- endmacro %}
