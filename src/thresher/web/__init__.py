"""The service: an HTTP API over a model and its journal, and a page for people. `thresher serve` starts it."""
