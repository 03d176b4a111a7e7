# SPDX-License-Identifier: Apache-2.0
"""Certificates of good and bad kinds, for origins that tests start.

    ca = make_ca(folder)                          # ca.pem is the root
    chain, key = make_leaf(folder, ca, ["a.test"])
    chain, key = make_leaf(folder, ca, ["a.test"], expired=True)

The paths are what ssl.SSLContext.load_cert_chain() takes; chain holds the leaf
and the intermediates that an origin sends.  BAD names every kind that a client
must refuse: {kind: (keywords of make_leaf, what the reason says)}; each is
worth nothing without the good one, accepted over the same path.  To serve the
weak kinds a context needs set_ciphers("ALL:@SECLEVEL=0") first.
"""
import datetime
import ipaddress
import itertools
import os
import warnings

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NUMBERS = itertools.count(1)
DAY = datetime.timedelta(days=1)
MISMATCH = "is for another host"

BAD = {
    "expired": ({"expired": True}, "expired on"),
    "not-yet-valid": ({"not_yet": True}, "is not valid before"),
    "self-signed": ({"self_signed": True}, "is self-signed"),
    "unknown-issuer": ({"stranger": True}, "has an unknown issuer"),
    "another-host": ({"names": ["evil.test"]}, MISMATCH),
    "parent-name": ({"names": ["test"]}, MISMATCH),
    "common-name-only": ({"cn_only": True}, MISMATCH),
    "address-only": ({"names": ["127.0.0.1"]}, MISMATCH),
    "wildcard-of-all": ({"names": ["*.test"]}, MISMATCH),
    "wildcard-inside": ({"names": ["a*.test"]}, MISMATCH),
    "nul-in-name": ({"nul": True}, MISMATCH),
    "sha1": ({"digest": hashes.SHA1()}, "weak digest"),
    "rsa-1024": ({"rsa_bits": 1024}, "key that is too small"),
    "client-purpose": ({"purpose": ExtendedKeyUsageOID.CLIENT_AUTH},
                       "not for TLS servers"),
    "unknown-critical": ({"critical": True}, "critical extension"),
    "issuer-not-a-ca": ({"via": {"is_ca": False}}, "is not a CA"),
    "issuer-expired": ({"via": {"expired": True}}, "expired on"),
    "issuer-missing": ({"via": {}, "send_issuer": False},
                       "has an unknown issuer"),
    "issuer-of-others": ({"via": {"permitted": "other.test"}},
                         "permitted subtree violation"),
    "path-too-long": ({"via": {"path_length": 0}, "deeper": True},
                      "allows fewer CAs below it"),
}
GOOD = {
    "plain": {},
    "rsa-2048": {"rsa_bits": 2048},
    "below-an-intermediate": {"via": {}},
    "several-names": {"names": ["*.other.test", "SELF"]},
    "issuer-of-these": {"via": {"permitted": "test"}},
}


class Issuer:
    """A certificate that signs others, and its key; pem: a path."""

    def __init__(self, certificate, key, pem=None):
        self.certificate, self.key, self.pem = certificate, key, pem
        self.name = certificate.subject


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _key(rsa_bits=None):
    return (rsa.generate_private_key(65537, rsa_bits) if rsa_bits
            else ec.generate_private_key(ec.SECP256R1()))


def _write(path, *parts):
    with open(path, "wb") as out:
        for part in parts:
            out.write(part)
    return path


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def _builder(subject, key, issuer, expired=False, not_yet=False):
    """issuer is None for a certificate that signs itself."""
    now = datetime.datetime.utcnow()
    start = now + DAY if not_yet else now - 60 * DAY
    end = now - DAY if expired else now + 30 * DAY
    signer = issuer.key if issuer else key
    return (x509.CertificateBuilder().subject_name(subject)
            .issuer_name(issuer.name if issuer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start).not_valid_after(end)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(
                key.public_key()), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(
                signer.public_key()), False))


def _usage(signs):
    return x509.KeyUsage(not signs, False, False, False, False, signs, signs,
                         False, False)


def _authority(common_name, issuer=None, is_ca=True, path_length=None,
               permitted=None, **times):
    """permitted: the only domain in which it may name hosts."""
    key, subject = _key(), _name(common_name)
    builder = (_builder(subject, key, issuer, **times)
               .add_extension(x509.BasicConstraints(
                   is_ca, path_length if is_ca else None), True)
               .add_extension(_usage(is_ca), True))
    if permitted:
        builder = builder.add_extension(x509.NameConstraints(
            [x509.DNSName(permitted)], None), True)
    return Issuer(builder.sign(issuer.key if issuer else key, hashes.SHA256()),
                  key)


def make_ca(folder, common_name="test root"):
    """A root; its pem is the bundle to trust."""
    ca = _authority(common_name)
    ca.pem = _write(os.path.join(folder, f"ca{next(NUMBERS)}.pem"),
                    _pem(ca.certificate))
    return ca


def _alternatives(names, nul):
    if nul:
        return [x509.DNSName(names[0] + "\0.evil.test")]
    out = []
    for name in names:
        try:
            out.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            out.append(x509.DNSName(name))
    return out


def make_leaf(folder, ca, names, self_signed=False, stranger=False,
              cn_only=False, nul=False, digest=None, rsa_bits=None,
              purpose=ExtendedKeyUsageOID.SERVER_AUTH, critical=False,
              via=None, deeper=False, send_issuer=True, **times):
    """(chain, key): paths.  Without keywords it is a good one.

    via: keywords of an intermediate below ca that signs it; deeper: another
    one below that.  times: expired or not_yet.
    """
    issuer, above = ca, []
    if stranger:
        issuer = _authority("stranger")
    if via is not None:
        issuer = _authority("intermediate", issuer, **via)
        above.insert(0, issuer)
    if deeper:
        issuer = _authority("deeper intermediate", issuer)
        above.insert(0, issuer)
    if self_signed:
        issuer = None
    key = _key(rsa_bits)
    builder = (_builder(_name(names[0]), key, issuer, **times)
               .add_extension(x509.BasicConstraints(False, None), True)
               .add_extension(_usage(False), True)
               .add_extension(x509.ExtendedKeyUsage([purpose]), False))
    if not cn_only:
        builder = builder.add_extension(
            x509.SubjectAlternativeName(_alternatives(names, nul)), False)
    if critical:
        builder = builder.add_extension(x509.UnrecognizedExtension(
            x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\5\0"), True)
    with warnings.catch_warnings():
        # That SHA-1 is deprecated is the point.
        warnings.simplefilter("ignore")
        leaf = builder.sign(issuer.key if issuer else key,
                            digest or hashes.SHA256())
    stem = os.path.join(folder, f"leaf{next(NUMBERS)}")
    chain = _write(stem + ".pem", _pem(leaf),
                   *(_pem(i.certificate) for i in above if send_issuer))
    return chain, _write(stem + ".key", key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def make_kind(folder, ca, host, keywords):
    """make_leaf() for host with an entry of BAD or GOOD, whose own names win;
    "SELF" among them stands for host."""
    keywords = dict(keywords)
    names = [host if name == "SELF" else name
             for name in keywords.pop("names", [host])]
    return make_leaf(folder, ca, names, **keywords)
