"""Settings of acidsql, which are read from the Spark session's configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlparse

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import AcidAnalysisError, invalid_setting
from acidsql.format.identifiers import folded
from acidsql.format.timestamp_types import HIVE_INSTANT, INSTANT, TIMESTAMP
from acidsql.metastore.kerberos import Kerberos, Protection, least_protection
from acidsql.metastore.names import METASTORE_FILE, THRIFT
from acidsql.metastore.tls import Tls
from acidsql.metastore.tokens import DelegationToken, TokenFile, newest_token
from acidsql.schema.acid_file import CODECS
from acidsql.session.setting_names import warn_of_unknown

# Spark's name for the ORC codec "none".
_UNCOMPRESSED = {"uncompressed": "none"}
# Stores of Amazon, Google, Alibaba, Tencent and Huawei, and Azure's blob endpoint.
_OBJECT_STORES = "s3a,s3,s3n,gs,oss,cosn,obs,wasb,wasbs"
_SIZE = re.compile(r"(\d+)\s*([bkmgt]?)b?")
# Settings of Spark and Hive with the address of the Hive Metastore.
_HIVE_URIS = ("hive.metastore.uris", "metastore.thrift.uris")
# Settings of Hive's client: whether the server uses TLS, and Java's file with the certificates.
_HIVE_TLS = ("metastore.use.SSL", "hive.metastore.use.SSL")
_TRUST_STORES = ("hive.metastore.truststore", "metastore.truststore")
# Settings of Hive's client: the service of the delegation token to use.
_TOKEN_SERVICES = ("hive.metastore.token.signature", "metastore.token.signature")


class AutoCompaction(StrEnum):
    """Automatic maintenance of a session after its writes.

    ON: request and run the necessary compactions, and clean. INITIATE_ONLY: request them for a
    worker, such as ``acidsql maintain``.
    """

    ON = "on"
    OFF = "off"
    INITIATE_ONLY = "initiate-only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a session.

    Attributes:
        metastore: ``spark.acidsql.metastore``: ``thrift://host:port`` of a Hive Metastore, or
            several separated by commas; or the path of the embedded metastore's SQLite file, on a
            local disk.
        metastore_timeout: ``spark.acidsql.metastore.timeout``: seconds to wait for an answer from a
            Hive Metastore.
        kerberos: Kerberos settings for a Hive Metastore that requires it, otherwise None.
        tls: TLS settings for a Hive Metastore that uses it, otherwise None.
        lock_timeout: ``spark.acidsql.lock.timeout``: seconds to wait for locks.
        txn_timeout: ``spark.acidsql.txn.timeout``: seconds without a heartbeat until a transaction
            of the embedded metastore is aborted; a Hive Metastore has its own.
        snapshot_max_age: ``spark.acidsql.snapshot.maxAge``: seconds during which a returned
            DataFrame can be read.
        history_entries: ``spark.acidsql.history.maxEntries``: number of the newest write ids per
            table that the embedded metastore keeps history for.
        synchronous: ``spark.acidsql.synchronous``: whether a commit waits until all its data is on
            the local disk.
        object_stores: ``spark.acidsql.objectStore.schemes``: schemes of stores where a rename is a
            copy.
        auto_compaction: ``spark.acidsql.compaction.auto``.
        compaction_bytes: ``spark.acidsql.compaction.maxBytes``: maximum bytes that the automatic
            compactions of all sessions process at the same time.
    """

    metastore: str
    metastore_timeout: float
    kerberos: Kerberos | None
    tls: Tls | None
    lock_timeout: float
    txn_timeout: float
    snapshot_max_age: float
    history_entries: int
    synchronous: bool
    object_stores: frozenset[str]
    auto_compaction: AutoCompaction
    compaction_bytes: int

    @property
    def is_served(self) -> bool:
        """Whether the metastore is a Hive Metastore."""
        return self.metastore.startswith(THRIFT)


def read_settings(spark: SparkSession) -> Settings:
    """Read the settings of a session.

    Raises:
        AcidAnalysisError: UNSUPPORTED_METASTORE, METASTORE_PATH_NEEDED, INVALID_CONF_VALUE.
    """
    warn_of_unknown(spark)
    metastore = _metastore(spark)
    return Settings(
        metastore=metastore,
        metastore_timeout=_seconds(spark, "spark.acidsql.metastore.timeout", 600.0),
        kerberos=_kerberos(spark),
        tls=_tls(spark),
        lock_timeout=_seconds(spark, "spark.acidsql.lock.timeout", 300.0),
        txn_timeout=_seconds(spark, "spark.acidsql.txn.timeout", 300.0),
        snapshot_max_age=_seconds(spark, "spark.acidsql.snapshot.maxAge", 86_400.0),
        history_entries=_number(spark, "spark.acidsql.history.maxEntries", 10_000),
        synchronous=_choice(spark, "spark.acidsql.synchronous", ("full", "off")) == "full",
        object_stores=_schemes(spark),
        auto_compaction=_auto_compaction(spark, is_served=metastore.startswith(THRIFT)),
        compaction_bytes=_bytes(spark, "spark.acidsql.compaction.maxBytes", "4g"),
    )


def hive_settings(spark: SparkSession, names: Iterable[str]) -> dict[str, str]:
    """Return the settings of Hive that the session's or Hadoop's configuration contains."""
    configured = {name: _configured(spark, name) for name in names}
    return {name: value for name, value in configured.items() if value}


def name_key(spark: SparkSession) -> Callable[[str], str]:
    """Return the function that maps equal column names of a statement to the same key.

    ``spark.sql.caseSensitive`` decides which names are equal, as in the resolver of SQLConf.
    """
    is_sensitive = str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    return str if is_sensitive else folded


def orc_codec(spark: SparkSession) -> str | None:
    """Return the codec that a session sets for new tables, in lower case; None if it sets none.

    Each statement that creates a table reads ``spark.acidsql.orc.compress``. If it is not set, the
    statement reads Spark's ``spark.sql.orc.compression.codec``.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    for key in ("spark.acidsql.orc.compress", "spark.sql.orc.compression.codec"):
        value = spark.conf.get(key, None)
        if value:
            codec = str(_UNCOMPRESSED.get(value.lower(), value.lower()))
            if codec not in CODECS:
                raise invalid_setting(
                    key,
                    value,
                    f"use one of {', '.join(CODECS)}, or set spark.acidsql.orc.compress to one",
                )
            return codec
    return None


def takes_instants(spark: SparkSession) -> bool:
    """Return whether files store new TIMESTAMP columns as instants.

    Each statement that creates columns reads ``spark.acidsql.timestampType``.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    names = {HIVE_INSTANT: True, INSTANT: True, TIMESTAMP: False}
    key = "spark.acidsql.timestampType"
    value = str(spark.conf.get(key, TIMESTAMP))
    is_instant = names.get(" ".join(value.lower().split()))
    if is_instant is None:
        raise invalid_setting(key, value, "use TIMESTAMP or TIMESTAMP WITH LOCAL TIME ZONE")
    return is_instant


def _seconds(spark: SparkSession, key: str, default: float) -> float:
    text = str(spark.conf.get(key, str(default)))
    try:
        return float(text.removesuffix("s"))
    except ValueError as err:
        raise invalid_setting(key, text, "give a number of seconds") from err


def _choice(spark: SparkSession, key: str, choices: Sequence[str], default: str = "") -> str:
    """Return a setting that must be one of some words; the default is the first word."""
    text = str(spark.conf.get(key, default or choices[0]))
    if text.lower() not in choices:
        raise invalid_setting(key, text, f"give {', '.join(choices[:-1])} or {choices[-1]}")
    return text.lower()


def _schemes(spark: SparkSession) -> frozenset[str]:
    """Return the schemes of object stores, in lower case."""
    key = "spark.acidsql.objectStore.schemes"
    text = str(spark.conf.get(key, _OBJECT_STORES))
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    for name in names:
        if not re.fullmatch("[a-z][a-z0-9+.-]*", name) or name == "file":
            raise invalid_setting(key, text, f"give schemes, such as {_OBJECT_STORES}")
    return frozenset(names)


def _auto_compaction(spark: SparkSession, *, is_served: bool) -> AutoCompaction:
    """Return the automatic maintenance of a session; off by default if a server has workers."""
    default = AutoCompaction.OFF if is_served else AutoCompaction.ON
    key = "spark.acidsql.compaction.auto"
    return AutoCompaction(_choice(spark, key, tuple(AutoCompaction), default.value))


def _bytes(spark: SparkSession, key: str, default: str) -> int:
    """Return a number of bytes, in the format of Spark's own settings: ``4g``."""
    text = str(spark.conf.get(key, default))
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None:
        raise invalid_setting(key, text, f"give a number of bytes, such as {default}")
    return int(match[1]) << 10 * "bkmgt".index(match[2] or "b")


def retries(spark: SparkSession) -> int:
    """Return how often acidsql runs a statement again that has lost a conflict.

    Each statement that writes reads ``spark.acidsql.retries``.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    return _number(spark, "spark.acidsql.retries", 3)


class Isolation(StrEnum):
    """Isolation of a statement that writes.

    SNAPSHOT: at its commit, no other transaction has changed the rows that it changes.
    SERIALIZABLE: in addition, no other transaction has changed the rows that it has read.
    """

    SNAPSHOT = "snapshot"
    SERIALIZABLE = "serializable"


def isolation(spark: SparkSession) -> Isolation:
    """Return the isolation of statements that write.

    Each statement that writes reads ``spark.acidsql.isolation``.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    return Isolation(_choice(spark, "spark.acidsql.isolation", tuple(Isolation)))


def records_statements(spark: SparkSession) -> bool:
    """Return whether the history of tables keeps the texts of statements.

    Each statement that writes reads ``spark.acidsql.history.statements``.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    return _choice(spark, "spark.acidsql.history.statements", ("on", "off")) == "on"


def makes_acid_tables(spark: SparkSession) -> bool:
    """Return whether a new table without a format is an ACID table.

    Each statement and writer that creates a table reads ``spark.acidsql.defaultTable``.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    return _choice(spark, "spark.acidsql.defaultTable", ("spark", "acid")) == "acid"


def _number(spark: SparkSession, key: str, default: int) -> int:
    text = str(spark.conf.get(key, str(default)))
    if not re.fullmatch("[0-9]{1,9}", text):
        raise invalid_setting(key, text, "give a whole number, 0 or more")
    return int(text)


def _metastore(spark: SparkSession) -> str:
    place = str(spark.conf.get("spark.acidsql.metastore", ""))
    if not place:
        uris = (_configured(spark, key) for key in _HIVE_URIS)
        return next(filter(None, uris), None) or _beside_warehouse(spark)
    if place.startswith(THRIFT):
        return place
    parsed = urlparse(place)
    if parsed.scheme not in ("", "file"):
        raise AcidAnalysisError(
            "UNSUPPORTED_METASTORE",
            f"spark.acidsql.metastore is {place!r}: give thrift://host:port of a Hive Metastore, "
            "or the path of a local SQLite file",
        )
    return parsed.path


def _beside_warehouse(spark: SparkSession) -> str:
    """Return the default path of the embedded metastore, next to the warehouse directory.

    Raises:
        AcidAnalysisError: the warehouse is not on a local disk (METASTORE_PATH_NEEDED).
    """
    warehouse = urlparse(str(spark.conf.get("spark.sql.warehouse.dir")))
    if warehouse.scheme not in ("", "file"):
        raise AcidAnalysisError(
            "METASTORE_PATH_NEEDED",
            f"the warehouse {warehouse.geturl()} is not on a local disk: set "
            "spark.acidsql.metastore to thrift://host:port of a Hive Metastore, or to the "
            "path of a SQLite file on a local disk",
        )
    return str(Path(warehouse.path).parent / METASTORE_FILE)


def _configured(spark: SparkSession, key: str) -> str | None:
    """Return a setting of Hive from the session's or Hadoop's configuration (``hive-site.xml``)."""
    given = spark.conf.get(key, None) or spark.conf.get(f"spark.hadoop.{key}", None)
    return given or bridge.hadoop_setting(spark, key)


def _kerberos(spark: SparkSession) -> Kerberos | None:
    """Read the Kerberos principal of the metastore, and the source of delegation tokens.

    The settings of acidsql take precedence over the settings of Hive's client.
    """
    principal = spark.conf.get("spark.acidsql.metastore.kerberos.principal", None)
    token_file = spark.conf.get("spark.acidsql.metastore.kerberos.tokenFile", None)
    is_hives = principal is None and _configured(spark, "hive.metastore.sasl.enabled") == "true"
    if is_hives:
        principal = _configured(spark, "hive.metastore.kerberos.principal")
    if not (principal or token_file or is_hives):
        return None
    service = next(filter(None, (_configured(spark, name) for name in _TOKEN_SERVICES)), "")
    return Kerberos(
        principal=principal or "",
        host=spark.conf.get("spark.acidsql.metastore.kerberos.host", None),
        protection=_protection(spark),
        token=TokenFile(token_file, service) if token_file else HadoopTokens(spark, service),
    )


def _protection(spark: SparkSession) -> Protection:
    """Return the weakest protection that Hadoop's setting names."""
    key = "hadoop.rpc.protection"
    text = _configured(spark, key) or Protection.AUTHENTICATION.name
    try:
        return least_protection(text)
    except KeyError as err:
        choices = ", ".join(one.name.lower() for one in Protection)
        raise AcidAnalysisError(
            "INVALID_CONF_VALUE", f"{key} is {text!r}: give one or several of {choices}"
        ) from err


def _tls(spark: SparkSession) -> Tls | None:
    """Read whether the metastore uses TLS, and which certificates to trust.

    The settings of acidsql take precedence over the settings of Hive's client.
    """
    default = "false"
    for name in _HIVE_TLS:
        default = _configured(spark, name) or default
    if _choice(spark, "spark.acidsql.metastore.tls.enabled", ("true", "false"), default) == "false":
        return None
    ca_file = spark.conf.get("spark.acidsql.metastore.tls.caFile", None)
    if ca_file:
        return Tls(ca_file=ca_file)
    for prefix in _TRUST_STORES:
        path = _configured(spark, f"{prefix}.path")
        if path:
            password = f"{prefix}.password"
            return Tls(ca_certificates=bridge.trusted_certificates(spark, path, password))
    return Tls()


@dataclass(frozen=True, slots=True)
class HadoopTokens:
    """Tokens of Hadoop's user, as the source of a `acidsql.metastore.kerberos.Kerberos`.

    Each new connection looks them up again, because Spark renews them over time.

    Attributes:
        spark: the session.
        service: service of the token to use (``hive.metastore.token.signature``).
    """

    spark: SparkSession
    service: str

    def current(self) -> DelegationToken | None:
        """Return the token of the metastore that expires last; None if there is none.

        Raises:
            MetastoreError: METASTORE_AUTHENTICATION, the JVM no longer responds.
        """
        tokens = [DelegationToken.parse(text) for text in bridge.hadoop_tokens(self.spark)]
        return newest_token(tokens, self.service)
