"""Certificates for the tests: an authority, and what it signs."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

#: What the key of an authority is for.
SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@attrs.frozen
class Issued:
    """A key and the certificate for it."""

    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    certificate: x509.Certificate

    @property
    def key_pem(self) -> bytes:
        """The key, for a file."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    @property
    def certificate_pem(self) -> bytes:
        """The certificate, for a file."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, as hex."""
        return self.certificate.fingerprint(SHA256()).hex()

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both files; returns their paths, the key first."""
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        key.write_bytes(self.key_pem)
        certificate.write_bytes(self.certificate_pem)
        return key, certificate


def issue(
    name: str,
    signer: Issued | None = None,
    alternative_names: Sequence[x509.GeneralName] = (),
    rsa_bits: int = 0,
    valid: datetime.timedelta = datetime.timedelta(hours=1),
) -> Issued:
    """A certificate signed by `signer`; an authority that signs itself without one. The key is P-256, or RSA."""
    key = rsa.generate_private_key(65537, rsa_bits) if rsa_bits else ec.generate_private_key(ec.SECP256R1())
    signing_key = key if signer is None else signer.key
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if signer is None else signer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + valid)
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        # From Python 3.13 on, clients insist on these two, and on the usage of an authority's key.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
    )
    if signer is None:
        builder = builder.add_extension(SIGNS_CERTIFICATES, critical=True)
    if alternative_names:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternative_names), critical=False)
    return Issued(key, builder.sign(signing_key, SHA256()))
