"""Conversion of text to sparse rows of features: characters, tokens, analysers, vocabulary and tf-idf."""
