"""Registration of ``format("acidsql")`` with a session's settings."""

from __future__ import annotations

from importlib.util import find_spec

import pyspark
from pyspark.sql import SparkSession

from acidsql import api
from acidsql.datasource.options import Defaults
from acidsql.errors import AcidAnalysisError

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def refuse_old_spark() -> None:
    """Refuse a PySpark without data sources in Python.

    Raises:
        AcidAnalysisError: UNSUPPORTED_SPARK_VERSION.
    """
    if find_spec("pyspark.sql.datasource") is None:
        raise AcidAnalysisError(
            "UNSUPPORTED_SPARK_VERSION",
            f"PySpark {pyspark.__version__} has no data sources in Python, which format('acidsql') "
            "is: use acidsql.table and acidsql.sql, or PySpark 4.0 or newer",
        )


def register(spark: SparkSession) -> None:
    """Register ``format("acidsql")`` in a session, with the session's settings.

    They are the metastore, its user, time-outs and principal, and the session's time zone, as they
    are now; options of a reader or writer go before them. Where Spark has filters for such sources
    (4.1 and later), they are switched on (``spark.sql.python.filterPushdown.enabled``).

    Args:
        spark: the session.

    Raises:
        AcidAnalysisError: UNSUPPORTED_SPARK_VERSION, PySpark 3.5 has no data sources in Python.

    >>> acidsql.register(spark)
    >>> name = f"{spark.catalog.currentDatabase()}.pet"
    >>> spark.read.format("acidsql").load(name).where("id = 2").collect()
    [Row(id=2, name='Tom')]
    """
    refuse_old_spark()
    from acidsql.datasource.filters import HAS_FILTERS  # noqa: PLC0415 - not in PySpark 3.5
    from acidsql.datasource.source import AcidDataSource  # noqa: PLC0415

    with api.working(spark) as session:
        settings = session.settings
        # Processes of the source do not reach the session, from which the token comes.
        kerberos = settings.kerberos and settings.kerberos.with_current_token()
        defaults = Defaults(
            metastore=settings.metastore,
            time_zone=session.time_zone,
            user=session.user,
            metastore_timeout=settings.metastore_timeout,
            txn_timeout=settings.txn_timeout,
            lock_timeout=settings.lock_timeout,
            synchronous=settings.synchronous,
            kerberos=kerberos,
            tls=settings.tls,
            pushes_filters=HAS_FILTERS,
        )
    if HAS_FILTERS:
        spark.conf.set(_PUSHDOWN, "true")
    # A class of its own is sent to the processes of the source with these values in it.
    spark.dataSource.register(type("AcidDataSource", (AcidDataSource,), {"defaults": defaults}))
