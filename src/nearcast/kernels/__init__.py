"""The hot loops, compiled by Numba: arrays in, arrays out. Nothing of ours above this package is imported here."""

from nearcast.kernels import cache

CACHE_DIR = cache.choose()
"""Where compiled kernels are kept (None without JIT). Chosen here, before the first kernel is declared."""
