"""Compiled loops over plain arrays, with no classes, strings or files in them; and how they are compiled and kept."""
