"""General-purpose helpers for the other packages; nothing here is specific to text categorization."""
