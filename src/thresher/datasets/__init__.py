"""Read and write corpora in common formats: a path, a stream or a corpus name becomes a stream of documents."""
