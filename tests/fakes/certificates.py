"""A private certificate authority and a server certificate for the loopback names."""

import ssl
from functools import cache
from pathlib import Path

import trustme

NAMES = ("localhost", "127.0.0.1", "::1")


@cache
def _authority() -> tuple[trustme.CA, trustme.LeafCert]:
    authority = trustme.CA()
    return authority, authority.issue_cert(*NAMES)


def server_context(ca_file: Path) -> ssl.SSLContext:
    """A context for the server's side; the authority's certificate is written to `ca_file`."""
    authority, certificate = _authority()
    authority.cert_pem.write_to_path(str(ca_file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context
