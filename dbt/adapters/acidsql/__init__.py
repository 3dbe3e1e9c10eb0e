"""The dbt adapter ``acidsql``: dbt-spark with transactional tables."""

from __future__ import annotations

from dbt.adapters.base import AdapterPlugin

from dbt.adapters.acidsql.connections import AcidSqlCredentials
from dbt.adapters.acidsql.impl import AcidSqlAdapter
from dbt.include.acidsql import PACKAGE_PATH

Plugin = AdapterPlugin(
    adapter=AcidSqlAdapter,
    credentials=AcidSqlCredentials,
    include_path=PACKAGE_PATH,
    dependencies=["spark"],
)
