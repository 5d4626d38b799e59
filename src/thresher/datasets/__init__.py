"""Corpora in every common form: a path, a stream or a name becomes a stream of documents."""
