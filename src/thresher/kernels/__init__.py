"""Numba kernels over plain arrays, and the code that compiles and caches them.

Kernels use no files, no strings and no classes other than named tuples.
"""
