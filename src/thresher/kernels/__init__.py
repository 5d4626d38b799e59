"""Compiled loops over plain arrays: no classes, no strings, no files. The learners call them and nobody else does."""
