"""Certificates of authorities in Java's trust stores."""

from __future__ import annotations

import ssl

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.hadoop import hadoop_conf
from acidsql.bridge.jvm import jvm_class
from acidsql.errors import MetastoreError


def trusted_certificates(spark: SparkSession, path: str, password: str) -> str:
    """Return the certificates of a Java trust store (JKS or PKCS #12) as PEM.

    Args:
        spark: the session.
        path: path of the file on the local disk.
        password: name of the Hadoop setting that contains the password. A credential store can
            supply its value.

    Raises:
        MetastoreError: METASTORE_AUTHENTICATION, the file cannot be read or has no certificates.
    """
    file = jvm_class(spark, "java.io.File")(path)
    try:
        # Java takes the password as an array of characters, as Hadoop returns it.
        secret = hadoop_conf(spark).getPassword(password)
        store = jvm_class(spark, "java.security.KeyStore").getInstance(file, secret)
        aliases = list(jvm_class(spark, "java.util.Collections").list(store.aliases()))
        certificates = [store.getCertificate(alias) for alias in aliases]
        encoded = [bytes(each.getEncoded()) for each in certificates if each is not None]
    except Py4JJavaError as error:
        raise _unreadable(path, password, str(error.java_exception.toString())) from error
    if not encoded:
        raise _unreadable(path, password, "it has no certificates")
    return "".join(ssl.DER_cert_to_PEM_cert(each) for each in encoded)


def _unreadable(path: str, password: str, why: str) -> MetastoreError:
    return MetastoreError(
        "METASTORE_AUTHENTICATION",
        f"the trust store {path} cannot be read ({why}): check the file and {password}, or give "
        "the certificates as a PEM file by spark.acidsql.metastore.tls.caFile",
    )
