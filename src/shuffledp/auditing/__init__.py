"""Audits: what runs of the mechanism itself reveal, beside what is certified."""

from shuffledp.auditing.audit import Audit, audit

__all__ = ["Audit", "audit"]
