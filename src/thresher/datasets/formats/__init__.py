"""Readers for file formats, one module per format."""
