"""Audits: what runs of the mechanism itself reveal, beside what is certified."""

from shuffledp.deployment.audit.audit import Audit, audit

__all__ = ["Audit", "audit"]
