"""Signatures: a bit per word, so that vectors without a common word can mostly be told apart by one `and`."""

from __future__ import annotations

import numpy as np

from nearcast.kernels.jit import helper

GOLDEN = 0x9E3779B1


@helper
def short_bit(term):
    """One of 32 bits, for the later keywords of a posting."""
    return np.uint32(1 << (((np.int64(term) * GOLDEN) & 0xFFFFFFFF) >> 27))


PRINTS = 4
"""How many fingerprints a posting has room for."""


@helper
def fingerprint(term):
    """Eight bits of a word. The upper five say which bit `short_bit` is, so a signature can be made of fingerprints."""
    return np.uint32(((np.int64(term) * GOLDEN) & 0xFFFFFFFF) >> 24)


@helper
def bits_of(prints):
    """The signature of four words, given their fingerprints side by side."""
    one, five = np.uint32(1), np.uint32(31)
    # Numba widens shifts to 64 bits; brought back at each step, they stay 32-bit lanes in a vector pass
    bits = np.uint32(one << np.uint32(np.uint32(prints >> np.uint32(3)) & five))
    bits |= np.uint32(one << np.uint32(np.uint32(prints >> np.uint32(11)) & five))
    bits |= np.uint32(one << np.uint32(np.uint32(prints >> np.uint32(19)) & five))
    return np.uint32(bits | np.uint32(one << np.uint32(prints >> np.uint32(27))))


@helper
def long_bit(term):
    """One of 64 bits, for the words of a message."""
    return np.uint64(1) << np.uint64(((np.int64(term) * GOLDEN) & 0xFFFFFFFF) >> 26)
