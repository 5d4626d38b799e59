"""The web service: an HTTP API for a model and its journal, and a page for browsers."""
