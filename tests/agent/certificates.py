"""A private authority and a server certificate for 127.0.0.1, made by openssl for one test."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from agent.drivers.nats.server_config import ServerTLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Files of one authority."""

    authority: Path
    server: ServerTLS

    def verifying(self) -> ssl.SSLContext:
        """What trusts this authority and no other."""
        return ssl.create_default_context(cafile=str(self.authority))


def make(folder: Path) -> Certificates:
    """A new authority, and a certificate that it signed."""
    folder.mkdir(parents=True, exist_ok=True)

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl(
        *("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test CA"),
        *("-addext", "basicConstraints=critical,CA:TRUE"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
    )
    openssl(
        *("req", "-x509", *new, "-keyout", "server.key", "-out", "server.pem"),
        *("-CA", "ca.pem", "-CAkey", "ca.key", "-subj", "/CN=broker"),
        *("-addext", "subjectAltName=IP:127.0.0.1"),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
    )
    return Certificates(
        authority=folder / "ca.pem",
        server=ServerTLS(certificate=folder / "server.pem", key=folder / "server.key"),
    )
