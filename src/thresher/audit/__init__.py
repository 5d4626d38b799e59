"""Find problems in a labelled collection: doubtful labels, near-duplicates, leaks and odd categories."""

from thresher.audit.findings import Audit, CategoryRemark, Duplicates, Finding, Overlap, audit

__all__ = ["Audit", "CategoryRemark", "Duplicates", "Finding", "Overlap", "audit"]
