{#- Clauses of CREATE TABLE, and how a table comes to its rows. -#}

{% macro acidsql_is_transactional() -%}
  {%- set file_format = config.get('file_format', 'orc') -%}
  {%- if file_format in ['delta', 'iceberg', 'hudi'] -%}
    {%- do exceptions.raise_compiler_error(
      "file_format '" ~ file_format ~ "' is not one of the adapter acidsql: use the adapter spark"
    ) -%}
  {%- endif -%}
  {{ return(config.get('transactional', true)) }}
{%- endmacro %}


{#- Table properties that the model asks for. -#}
{% macro acidsql_properties() -%}
  {%- set properties = {'transactional': 'true'} -%}
  {%- do properties.update(config.get('tblproperties') or {}) -%}
  {{ return(properties) }}
{%- endmacro %}


{#- A text as a literal of SQL. -#}
{% macro acidsql_literal(text) -%}
  '{{ text | string | replace("\\", "\\\\") | replace("'", "\\'") }}'
{%- endmacro %}


{% macro acidsql_refuse_grants() -%}
  {%- if config.get('grants') -%}
    {%- do exceptions.raise_compiler_error(
      "grants of " ~ model.name ~ " cannot be given: who may read and write is said by the file "
      "system, or by the server of the metastore. Remove the configuration `grants`"
    ) -%}
  {%- endif -%}
{%- endmacro %}


{% macro acidsql__apply_grants(relation, grant_config, should_revoke=true) -%}
  {%- do acidsql_refuse_grants() -%}
{%- endmacro %}


{% macro acidsql__file_format_clause() -%}
  {%- if acidsql_is_transactional() -%}
    stored as {{ config.get('file_format', 'orc') }}
  {%- else -%}
    using {{ config.get('file_format', 'orc') }}
  {%- endif -%}
{%- endmacro %}


{% macro acidsql__tblproperties_clause() -%}
  {%- if acidsql_is_transactional() -%}
    tblproperties (
      {%- for key, value in acidsql_properties().items() %}
      {{ acidsql_literal(key) }} = {{ acidsql_literal(value) }}{{ ',' if not loop.last }}
      {%- endfor %}
    )
  {%- else -%}
    {{ spark__tblproperties_clause() }}
  {%- endif -%}
{%- endmacro %}


{% macro acidsql__comment_clause() -%}
  {%- if config.persist_relation_docs() and model.description -%}
    comment {{ acidsql_literal(model.description) }}
  {%- endif -%}
{%- endmacro %}


{#- A table is made by `create table`, or takes the place of one that exists. -#}
{% macro acidsql__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if temporary -%}
    {%- do adapter.drop_after_model(relation) -%}
  {%- endif -%}
  {%- if temporary or not acidsql_is_transactional() or language != 'sql' -%}
    {{ spark__create_table_as(temporary, relation, compiled_code, language) }}
  {%- else -%}
    {{ acidsql_create_table('create table', relation, compiled_code) }}
  {%- endif -%}
{%- endmacro %}


{% macro acidsql_create_table(head, relation, compiled_code) -%}
  {%- set query = compiled_code -%}
  {%- if config.get('contract').enforced -%}
    {%- do get_assert_columns_equivalent(compiled_code) -%}
    {%- set query = get_select_subquery(compiled_code) -%}
  {%- endif -%}
  {{ head }} {{ relation }}
  {{ acidsql_clauses() }}
  as
  {{ query }}
{%- endmacro %}


{#- Clauses of CREATE TABLE AS SELECT that the model's configuration gives. -#}
{% macro acidsql_clauses() -%}
  {{ file_format_clause() }}
  {{ tblproperties_clause() }}
  {{ partition_cols(label='partitioned by') }}
  {{ clustered_cols(label='clustered by') }}
  {{ location_clause() }}
  {{ comment_clause() }}
{%- endmacro %}


{#-
  Gives a model's table the rows of its query, and returns the relation.

  A table that keeps its columns, its properties and the constraints of its contract is overwritten.
  Another one is replaced. Each is one transaction, and a query that began before goes on reading
  the rows from before. With constraints, and on a Hive Metastore, a table is made aside, and takes
  the place of the old one when its rows have met the constraints. If the query fails, or a row
  breaks a constraint, the old table stays, unless location_root has changed.
-#}
{% macro acidsql_build_table(target, existing, compiled_code) -%}
  {%- set constraints = acidsql_constraints() -%}
  {%- set not_null = acidsql_not_null() -%}
  {%- if existing is not none and existing.is_table -%}
    {%- set staged = make_temp_relation(target).incorporate(type='view') -%}
    {%- set staged_code = compiled_code -%}
    {%- if config.get('contract').enforced -%}
      {%- do get_assert_columns_equivalent(compiled_code) -%}
      {%- set staged_code = get_select_subquery(compiled_code) -%}
    {%- endif -%}
    {%- call statement('stage') -%}
      {{ create_table_as(True, staged, staged_code) }}
    {%- endcall -%}
    {%- set keeps = not config.get('location_root')
        and not config.get('partition_by')
        and not config.get('clustered_by')
        and adapter.can_overwrite(existing, staged, acidsql_properties(), constraints, not_null) -%}
    {%- if keeps -%}
      {%- set columns = adapter.get_columns_in_relation(existing) -%}
      {%- call statement('main') -%}
        insert overwrite table {{ target }}
        select {{ columns | map(attribute='quoted') | join(', ') }} from {{ staged }}
      {%- endcall -%}
    {%- endif -%}
    {%- if keeps -%}
      {{ return(target) }}
    {%- endif -%}
  {%- endif -%}

  {%- set is_plain = not constraints and not not_null -%}
  {%- if existing is none and is_plain -%}
    {%- call statement('main') -%}
      {{ create_table_as(False, target, compiled_code) }}
    {%- endcall -%}
  {%- elif existing is not none and existing.is_table and is_plain
      and adapter.can_replace(existing, acidsql_location()) -%}
    {%- call statement('main') -%}
      {{ acidsql_create_table('create or replace table', target, compiled_code) }}
    {%- endcall -%}
  {%- elif config.get('location_root') -%}
    {%- if existing is not none -%}
      {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {%- call statement('main') -%}
      {{ create_table_as(False, target, compiled_code) }}
    {%- endcall -%}
    {%- do persist_constraints(target, model) -%}
  {%- else -%}
    {%- set intermediate = make_intermediate_relation(target).incorporate(
      path={'schema': target.schema}, type='table'
    ) -%}
    {%- do adapter.drop_relation(intermediate) -%}
    {%- call statement('main') -%}
      {{ create_table_as(False, intermediate, compiled_code) }}
    {%- endcall -%}
    {%- do persist_constraints(intermediate, model) -%}
    {%- if existing is not none -%}
      {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {%- do adapter.rename_relation(intermediate, target) -%}
  {%- endif -%}
  {{ return(target) }}
{%- endmacro %}


{#- Directory of the model's table, if the configuration says it. -#}
{% macro acidsql_location() -%}
  {%- set root = config.get('location_root') -%}
  {{ return(root ~ '/' ~ model['alias'] if root else none) }}
{%- endmacro %}


{#- Temporary views have no schema. All threads see them, so their names have the schema in them. -#}
{% macro acidsql__make_temp_relation(base_relation, suffix) -%}
  {%- set name = base_relation.schema ~ '__' ~ base_relation.identifier ~ suffix -%}
  {{ return(base_relation.incorporate(path={'identifier': name}).include(schema=false)) }}
{%- endmacro %}


{% macro acidsql__make_intermediate_relation(base_relation, suffix) -%}
  {{ return(base_relation.incorporate(path={'identifier': base_relation.identifier ~ suffix})) }}
{%- endmacro %}


{#- dbt's snapshots with hard_deletes: new_record ask for columns here; dbt-spark has rows of text. -#}
{% macro acidsql__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}


{% macro acidsql_show(what, schema) -%}
  {%- call statement('show', fetch_result=True) -%}
    show {{ what }} in {{ schema }}
  {%- endcall -%}
  {{ return(load_result('show').table) }}
{%- endmacro %}


{#- Constraints of the contract as SQL, without those of NOT NULL. -#}
{% macro acidsql_constraints() -%}
  {{ return(adapter.contract_constraints(model) if config.get('contract').enforced else []) }}
{%- endmacro %}


{#- Columns that the contract says are NOT NULL. -#}
{% macro acidsql_not_null() -%}
  {{ return(adapter.contract_not_null(model) if config.get('contract').enforced else []) }}
{%- endmacro %}


{#- Gives a new table the constraints of the contract, which its rows must meet. -#}
{% macro acidsql__persist_constraints(relation, model) -%}
  {%- for column in acidsql_not_null() -%}
    {%- call statement('not_null') -%}
      alter table {{ relation }} alter column {{ adapter.quote(column) }} set not null
    {%- endcall -%}
  {%- endfor -%}
  {%- for constraint in acidsql_constraints() -%}
    {%- call statement('constraint') -%}
      alter table {{ relation }} add {{ constraint }}
    {%- endcall -%}
  {%- endfor -%}
{%- endmacro %}


{% macro acidsql__persist_docs(relation, model, for_relation, for_columns) -%}
  {%- if relation.is_table and acidsql_is_transactional() -%}
    {%- set existing = adapter.get_columns_in_relation(relation) -%}
    {%- if for_relation and config.persist_relation_docs() and model.description
        and existing and existing[0].table_comment != model.description -%}
      {%- call statement('comment') -%}
        alter table {{ relation }} set tblproperties ('comment' = {{ acidsql_literal(model.description) }})
      {%- endcall -%}
    {%- endif -%}
    {%- if for_columns and config.persist_column_docs() and model.columns -%}
      {%- for column in existing -%}
        {%- for name, documented in model.columns.items() -%}
          {%- if name | lower == column.name | lower and documented.description
              and documented.description != column.column_comment -%}
            {%- call statement('column_comment') -%}
              alter table {{ relation }} alter column {{ column.quoted }}
              comment {{ acidsql_literal(documented.description) }}
            {%- endcall -%}
          {%- endif -%}
        {%- endfor -%}
      {%- endfor -%}
    {%- endif -%}
  {%- endif -%}
{%- endmacro %}


{#- Columns are added where the rows are. Without some, rows are written again, by one statement. -#}
{% macro acidsql__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
  {%- if not remove_columns -%}
    {%- do acidsql__create_columns(relation, add_columns or []) -%}
    {{ return('') }}
  {%- endif -%}
  {%- if not adapter.can_replace(relation, acidsql_location()) -%}
    {%- do exceptions.raise_compiler_error(
      'columns of ' ~ relation ~ ' cannot be dropped ('
      ~ remove_columns | map(attribute='name') | join(', ') ~ '): run with --full-refresh'
    ) -%}
  {%- endif -%}
  {%- set gone = remove_columns | map(attribute='name') | list -%}
  {%- set values = [] -%}
  {%- for column in adapter.get_columns_in_relation(relation) if column.name not in gone -%}
    {%- do values.append(column.quoted) -%}
  {%- endfor -%}
  {%- for column in add_columns or [] -%}
    {%- do values.append('cast(null as ' ~ column.data_type ~ ') as ' ~ adapter.quote(column.name)) -%}
  {%- endfor -%}
  {%- call statement('replace_columns') -%}
    create or replace table {{ relation }}
    {{ acidsql_clauses() }}
    as select {{ values | join(', ') }} from {{ relation }}
  {%- endcall -%}
  {%- do persist_constraints(relation, model) -%}
{%- endmacro %}


{% macro acidsql__create_columns(relation, columns) -%}
  {%- if columns -%}
    {%- call statement('add_columns') -%}
      alter table {{ relation }} add columns (
        {%- for column in columns %}
        {{ adapter.quote(column.name) }} {{ column.data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
      ) cascade
    {%- endcall -%}
  {%- endif -%}
{%- endmacro %}


{% macro acidsql__create_or_replace_clone(this_relation, defer_relation) -%}
  {%- do adapter.drop_relation(this_relation.incorporate(type='table')) -%}
  create table {{ this_relation }} clone {{ defer_relation }}
{%- endmacro %}
