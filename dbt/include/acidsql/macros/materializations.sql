{#- Tables, seeds, snapshots and clones. -#}

{% materialization table, adapter='acidsql', supported_languages=['sql'] -%}
  {%- if not acidsql_is_transactional() -%}
    {{ return(materialization_table_spark()) }}
  {%- endif -%}
  {%- do acidsql_refuse_grants() -%}
  {%- set target = this.incorporate(type='table') -%}
  {%- set existing = adapter.get_relation(database=none, schema=schema, identifier=model['alias']) -%}

  {{ run_hooks(pre_hooks) }}

  {%- do acidsql_build_table(target, existing, compiled_code) -%}
  {%- do persist_docs(target, model) -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target]}) }}
{%- endmaterialization %}


{% materialization clone, adapter='acidsql' -%}
  {{ return(materialization_clone_default()) }}
{%- endmaterialization %}


{% materialization snapshot, adapter='acidsql' -%}
  {%- if not acidsql_is_transactional() -%}
    {%- do exceptions.raise_compiler_error('A snapshot is changed by MERGE: it must be transactional') -%}
  {%- endif -%}
  {%- do acidsql_refuse_grants() -%}
  {{ return(materialization_snapshot_default()) }}
{%- endmaterialization %}


{#- There are no databases above schemas. -#}
{% macro acidsql__get_or_create_relation(database, schema, identifier, type) -%}
  {{ return(default__get_or_create_relation(none, schema, identifier, type)) }}
{%- endmacro %}


{% macro acidsql__build_snapshot_staging_table(strategy, sql, target_relation) -%}
  {%- set staged = make_temp_relation(target_relation).incorporate(type='view') -%}
  {%- call statement('build_snapshot_staging_relation') -%}
    {{ create_table_as(True, staged, snapshot_staging_table(strategy, sql, target_relation)) }}
  {%- endcall -%}
  {{ return(staged) }}
{%- endmacro %}


{#- The adapter drops it, also when the snapshot has failed. -#}
{% macro acidsql__post_snapshot(staging_relation) -%}
{%- endmacro %}


{% macro acidsql__snapshot_merge_sql(target, source, insert_cols) -%}
  {{ return(default__snapshot_merge_sql(target, source, insert_cols)) }}
{%- endmacro %}


{% macro acidsql__get_binding_char() -%}
  {{ return('%s' if target.method == 'thrift' else '?') }}
{%- endmacro %}


{% macro acidsql__get_batch_size() -%}
  {{ return(1000) }}
{%- endmacro %}


{#- Columns of a seed with their types. -#}
{% macro acidsql_seed_columns(agate_table) -%}
  {%- set types = config.get('column_types', {}) -%}
  {%- set columns = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- do columns.append({
      'name': adapter.quote_seed_column(name | string, config.get('quote_columns', none)),
      'type': types.get(name, adapter.convert_type(agate_table, loop.index0)),
    }) -%}
  {%- endfor -%}
  {{ return(columns) }}
{%- endmacro %}


{% macro acidsql__create_csv_table(model, agate_table) -%}
  {%- set sql -%}
    create table {{ this }} (
      {%- for column in acidsql_seed_columns(agate_table) %}
      {{ column.name }} {{ column.type }}{{ ',' if not loop.last }}
      {%- endfor %}
    )
    {{ file_format_clause() }}
    {{ partition_cols(label='partitioned by') }}
    {{ clustered_cols(label='clustered by') }}
    {{ location_clause() }}
    {{ comment_clause() }}
    {{ tblproperties_clause() }}
  {%- endset -%}
  {%- call statement('create_seed') -%} {{ sql }} {%- endcall -%}
  {{ return(sql) }}
{%- endmacro %}


{#- A seed that keeps its columns keeps its table, whose rows the loading replaces. -#}
{% macro acidsql__reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
  {%- set wanted = [] -%}
  {%- for column in acidsql_seed_columns(agate_table) -%}
    {%- do wanted.append(column.name | replace('`', '') | lower ~ ' ' ~ column.type | lower) -%}
  {%- endfor -%}
  {%- set present = [] -%}
  {%- for column in adapter.get_columns_in_relation(old_relation) -%}
    {%- do present.append(column.name | lower ~ ' ' ~ column.dtype | lower) -%}
  {%- endfor -%}
  {%- if full_refresh or wanted != present or not agate_table.rows | length
      or not acidsql_is_transactional() -%}
    {%- do adapter.drop_relation(old_relation) -%}
    {{ return(create_csv_table(model, agate_table)) }}
  {%- endif -%}
  {{ return('') }}
{%- endmacro %}


{#- Loads the rows of a seed: one statement for each batch, all in one transaction. -#}
{% macro acidsql__load_csv_rows(model, agate_table) -%}
  {%- set columns = acidsql_seed_columns(agate_table) -%}
  {%- set texts = [] -%}
  {%- if acidsql_is_transactional() -%}
    {%- call statement('start_transaction', auto_begin=False) -%} start transaction {%- endcall -%}
    {%- call statement('clear', auto_begin=False) -%} delete from {{ this }} {%- endcall -%}
  {%- endif -%}
  {%- for rows in agate_table.rows | batch(get_batch_size()) -%}
    {%- set bindings = [] -%}
    {%- for row in rows -%} {%- do bindings.extend(row) -%} {%- endfor -%}
    {%- set sql -%}
      insert into {{ this }} (
        {%- for column in columns -%} {{ column.name }}{{ ', ' if not loop.last }} {%- endfor -%}
      ) values
      {%- for row in rows %}
      (
        {%- for column in columns -%}
        cast({{ get_binding_char() }} as {{ column.type }}){{ ', ' if not loop.last }}
        {%- endfor -%}
      ){{ ',' if not loop.last }}
      {%- endfor %}
    {%- endset -%}
    {%- do adapter.add_query(sql, bindings=bindings, abridge_sql_log=True) -%}
    {%- do texts.append(sql) if loop.first -%}
  {%- endfor -%}
  {%- if acidsql_is_transactional() -%}
    {%- call statement('commit', auto_begin=False) -%} commit {%- endcall -%}
  {%- endif -%}
  {{ return(texts[0]) }}
{%- endmacro %}
