"""An authority and certificates of a test's own, as PEM files."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificates:
    """`ca` signed `server` (for 127.0.0.1), `elsewhere` (for another name) and `client`; keys end in `.key`."""

    folder: Path

    def path(self, name: str) -> str:
        """The file of a certificate or key, for example `ca.pem`, `client.key`."""
        return str(self.folder / name)


def make_certificates(folder: Path) -> Certificates:
    """Write them into a folder."""
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("test authority")
    own = _builder(issuer, issuer, authority).add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    _write(folder, "ca", own.sign(authority, hashes.SHA256()), authority)
    names: dict[str, list[x509.GeneralName]] = {
        "server": [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))],
        "elsewhere": [x509.DNSName("redis.example")],
        "client": [],
    }
    for name, alternatives in names.items():
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name), issuer, key)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), False)
        _write(folder, name, builder.sign(authority, hashes.SHA256()), key)
    return Certificates(folder)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
    )


def _write(folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / f"{name}.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
