"""Proofs: answers computed again in ball arithmetic, rounding included, and kept as certificates.

Needs the extra ``certify`` (python-flint), which is imported only when something is proved.
"""

from shuffledp.certification.certificate import Certificate, CertificateError
from shuffledp.certification.questions import certify, verify

__all__ = ["Certificate", "CertificateError", "certify", "verify"]
