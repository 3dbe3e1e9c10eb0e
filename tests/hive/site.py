"""Settings of the Hive that the tests run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

_LOGGING = """status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss,SSS}} %p %c{{1}} %t %m%n%ex
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""
_TRANSACTIONS = {
    "hive.support.concurrency": "true",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    "hive.exec.dynamic.partition.mode": "nonstrict",
    # A test runs the threads of compaction itself, a round at a time.
    "hive.compactor.initiator.on": "true",
    "hive.compactor.worker.threads": "1",
    "hive.compactor.delayed.cleanup.enabled": "false",
    # Managed tables that are not transactional are needed, to convert them.
    "hive.strict.managed.tables": "false",
    "hive.create.as.acid": "false",
    "hive.create.as.insert.only": "false",
    "metastore.metadata.transformer.class": " ",
}
_METASTORE = {
    "metastore.thrift.bind.host": "127.0.0.1",
    "metastore.schema.verification": "false",
    "metastore.hmshandler.retry.attempts": "1",
    "metastore.metastore.event.db.notification.api.auth": "false",
    "hive.metastore.event.db.notification.api.auth": "false",  # EXPORT looks at the last event
    "hive.metastore.client.cache.enabled": "false",
    "hive.notification.event.poll.interval": "0s",
}
# Answers come from files, and every statement runs.
_QUERIES = {
    "hive.query.results.cache.enabled": "false",
    "hive.compute.query.using.stats": "false",
    "hive.stats.autogather": "false",
    "hive.stats.column.autogather": "false",
    "hive.compactor.gather.stats": "false",
    "hive.security.authorization.enabled": "false",
    "hive.server2.materializedviews.registry.impl": "DUMMY",
    "hive.scheduled.queries.executor.enabled": "false",
    "hive.mapred.mode": "nonstrict",
    "hive.session.silent": "true",
    "list.sink.output.formatter": "RowFormatter",
}
_ENGINE = {
    "fs.defaultFS": "file:///",
    "fs.file.impl": "LocalFiles",
    "hive.execution.engine": "tez",
    "mapreduce.framework.name": "local",
    "mapreduce.job.reduces": "1",
    # Milliseconds between looks at whether a compaction's job is done.
    "mapreduce.client.completion.pollinterval": "100",
    "mapreduce.client.progressmonitor.pollinterval": "100",
    "tez.local.mode": "true",
    "tez.local.mode.without.network": "true",
    "tez.ignore.lib.uris": "true",
    "tez.runtime.optimize.local.fetch": "true",
    "tez.am.resource.memory.mb": "128",
    "tez.am.inline.task.execution.max-tasks": "2",
    "tez.runtime.io.sort.mb": "16",
    "hive.tez.container.size": "128",
    "hive.tez.auto.reducer.parallelism": "false",
    "hive.in.tez.test": "true",  # no session that waits for work
    "hive.merge.tezfiles": "false",
    "hive.merge.mapfiles": "false",
}


def site(home: Path, more: Mapping[str, str]) -> str:
    """Return the text of ``hive-site.xml`` for a Hive that writes only below a home directory."""
    settings = {
        **_TRANSACTIONS,
        **_METASTORE,
        **_QUERIES,
        **_ENGINE,
        **_places(home),
        **more,
    }
    properties = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    )
    return f"<configuration>\n{properties}</configuration>\n"


def _places(home: Path) -> dict[str, str]:
    temporary = home / "tmp"
    (temporary / "cache").mkdir(parents=True)
    warehouse = (home / "warehouse").as_uri()
    return {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:{home}/db",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "metastore.warehouse.dir": warehouse,
        "hive.metastore.warehouse.dir": warehouse,
        "metastore.warehouse.external.dir": (home / "external").as_uri(),
        "hive.exec.scratchdir": f"{temporary}/scratch",
        "hive.exec.local.scratchdir": f"{temporary}/local",
        "hive.downloaded.resources.dir": f"{temporary}/resources",
        "hive.querylog.location": f"{temporary}/log",
        "hive.user.install.directory": f"{temporary}/user",
        "hadoop.tmp.dir": f"{temporary}/hadoop",
        "tez.staging-dir": f"{temporary}/tez",
        "tez.local.cache.root.folder": f"{temporary}/cache",
    }


def log_settings(log: Path) -> str:
    """Return the text of ``log4j2.properties``."""
    return _LOGGING.format(log=log)
