"""From text to sparse rows of features: characters, tokens, analysers, vocabulary, strengths."""
