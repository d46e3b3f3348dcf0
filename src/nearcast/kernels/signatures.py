"""Signatures: a bit per word, so that vectors without a common word can mostly be told apart by one `and`."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.jit import helper

GOLDEN = 0x9E3779B1


@helper
def short_bit(term):
    """One of 32 bits, for the later keywords of a posting."""
    return np.uint32(1 << (((np.int64(term) * GOLDEN) & 0xFFFFFFFF) >> 27))


@helper
def long_bit(term):
    """One of 64 bits, for the words of a message."""
    return np.uint64(1) << np.uint64(((np.int64(term) * GOLDEN) & 0xFFFFFFFF) >> 26)
