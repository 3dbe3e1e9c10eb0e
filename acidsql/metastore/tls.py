"""TLS of connections to a Hive Metastore."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from acidsql.errors import MetastoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """TLS of connections to a Hive Metastore; the server's certificate must name its host.

    If you give no certificates, acidsql trusts the certificate authorities of the system.

    Attributes:
        ca_file: PEM file with the certificates of the trusted authorities.
        ca_certificates: the certificates themselves, as PEM; you can give both.
    """

    ca_file: str | None = None
    ca_certificates: str | None = None

    def context(self) -> ssl.SSLContext:
        """Return the SSL context that secures the sockets.

        Raises:
            MetastoreError: METASTORE_AUTHENTICATION, the certificates cannot be read.
        """
        try:
            return ssl.create_default_context(cafile=self.ca_file, cadata=self.ca_certificates)
        except OSError as error:  # ssl.SSLError is an OSError
            place = self.ca_file or "the trust store"
            raise MetastoreError(
                "METASTORE_AUTHENTICATION",
                f"the certificates of {place} cannot be read ({error}): give a file with "
                "certificates of authorities in PEM form, by spark.acidsql.metastore.tls.caFile "
                "or Tls(ca_file=…)",
            ) from error
