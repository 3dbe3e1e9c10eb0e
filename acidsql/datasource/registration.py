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
    """Refuse a PySpark without Python data sources.

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

    The source copies the current metastore, user, time-outs, principal and time zone of the
    session. Options of a reader or writer take precedence. No setting of the session changes. On
    Spark 4.1 and later, each query of the session reads only the columns and stripes that it needs.

    Args:
        spark: the session.

    Raises:
        AcidAnalysisError: UNSUPPORTED_SPARK_VERSION, PySpark 3.5 has no Python data sources;
            WORKER_WITHOUT_ACIDSQL, the Python of Spark's workers lacks the packages;
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
        # The token comes from the session, which the source's processes cannot access.
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
    # Spark sends this new class, with the values in it, to the source's processes.
    spark.dataSource.register(type("AcidDataSource", (AcidDataSource,), {"defaults": defaults}))
