"""Readers and downloads of known corpora."""
