"""Read and write model files."""
