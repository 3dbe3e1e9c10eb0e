"""Certificates of authorities in the files of Java."""

from __future__ import annotations

import ssl

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.hadoop import hadoop_conf
from acidsql.bridge.jvm import jvm_class
from acidsql.errors import MetastoreError


def trusted_certificates(spark: SparkSession, path: str, password: str) -> str:
    """Return the certificates of a trust store of Java (JKS or PKCS #12) as PEM.

    Args:
        spark: the session.
        path: of the file, on the local disk.
        password: name of the setting of Hadoop with its password, which may be in a credential
            store.

    Raises:
        MetastoreError: METASTORE_AUTHENTICATION, it cannot be read or has no certificates.
    """
    file = jvm_class(spark, "java.io.File")(path)
    try:
        # Java takes the password as an array of characters, as Hadoop returns it.
        secret = hadoop_conf(spark).getPassword(password)
        store = jvm_class(spark, "java.security.KeyStore").getInstance(file, secret)
        aliases = list(jvm_class(spark, "java.util.Collections").list(store.aliases()))
        certificates = [store.getCertificate(alias) for alias in aliases]
        found = [bytes(one.getEncoded()) for one in certificates if one is not None]
    except Py4JJavaError as error:
        raise _unreadable(path, password, str(error.java_exception.toString())) from error
    if not found:
        raise _unreadable(path, password, "it has no certificates")
    return "".join(ssl.DER_cert_to_PEM_cert(one) for one in found)


def _unreadable(path: str, password: str, why: str) -> MetastoreError:
    return MetastoreError(
        "METASTORE_AUTHENTICATION",
        f"the trust store {path} cannot be read ({why}): check the file and {password}, or give "
        "the certificates as a PEM file by spark.acidsql.metastore.tls.caFile",
    )
