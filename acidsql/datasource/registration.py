"""Registration of ``format("acidsql")`` with a session's settings."""

from __future__ import annotations

from importlib.util import find_spec

import pyspark
from pyspark.sql import SparkSession

from acidsql import api, bridge
from acidsql.datasource.options import Defaults
from acidsql.datasource.workers import check_worker
from acidsql.errors import AcidAnalysisError
from acidsql.session.process import check_session


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
    are now; options of a reader or writer go before them. No setting of the session changes. From
    Spark 4.1 on each query of the session reads only the columns and stripes that it needs.

    Args:
        spark: the session.

    Raises:
        AcidAnalysisError: UNSUPPORTED_SPARK_VERSION, PySpark 3.5 has no data sources in Python;
            WORKER_WITHOUT_ACIDSQL, the Python of Spark's workers does not have the packages;
            UNSUPPORTED_SESSION.

    >>> acidsql.register(spark)
    >>> name = f"{spark.catalog.currentDatabase()}.pet"
    >>> spark.read.format("acidsql").load(name).where("id = 2").collect()
    [Row(id=2, name='Tom')]
    """
    check_session(spark)
    refuse_old_spark()
    from acidsql.datasource.source import AcidDataSource  # noqa: PLC0415 - not in PySpark 3.5

    check_worker(spark)
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
        )
        bridge.plan_source_scans(spark)
    # A class of its own is sent to the processes of the source with these values in it.
    spark.dataSource.register(type("AcidDataSource", (AcidDataSource,), {"defaults": defaults}))
