"""Certificates: answers that are written down, and proved again from the mechanism and n alone.

What has to be compared, and the laws, are derived here a second time; the engine evaluates them.
"""

from shuffledp.certificates.certificate import Certificate, CertificateError
from shuffledp.certificates.questions import certify, verify

__all__ = ["Certificate", "CertificateError", "certify", "verify"]
