"""Makes certificates for tests of TLS: authorities, and what they sign."""

import datetime
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


class Certificate(NamedTuple):
    """A certificate and its key, and the files that hold them."""

    made: x509.Certificate
    key: EllipticCurvePrivateKey
    path: Path
    key_path: Path


def make_certificate(folder: Path, name: str, signed_by: Certificate | None = None) -> Certificate:
    """Write NAME.pem and NAME.key, valid for a day; without an authority to sign it, it is an authority."""
    key, now = generate_private_key(SECP256R1()), datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(
        issuer_name=signed_by.made.subject if signed_by else subject,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - datetime.timedelta(hours=1),
        not_valid_after=now + datetime.timedelta(days=1),
    ).add_extension(x509.BasicConstraints(ca=signed_by is None, path_length=None), critical=True)
    made = builder.sign(signed_by.key if signed_by else key, hashes.SHA256())
    path, key_path = folder / f"{name}.pem", folder / f"{name}.key"
    path.write_bytes(made.public_bytes(Encoding.PEM))
    key_path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return Certificate(made, key, path, key_path)
