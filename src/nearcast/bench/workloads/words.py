"""Word numbers spelled as letters: 7 -> "bitark", unique, and never a stop word or a word that stemming changes.

Syllables of a consonant and a vowel, then two closing consonants; no stop word of any language in `stopwordsiso` is
spelled so, and English stemming leaves such words alone. Computed from the number, so that a vocabulary of millions
costs no table.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearcast.kernels.jit import helper, kernel

_ONSETS = np.frombuffer(b"bdfgklmnprstvz", np.uint8)
_VOWELS = np.frombuffer(b"aeiou", np.uint8)
_CODAS = np.frombuffer(b"lkrknklpskrblmrp", np.uint8)
_ENDINGS = _CODAS.size // 2
_SYLLABLES = _ONSETS.size * _VOWELS.size
_TWO = _SYLLABLES**2 * _ENDINGS
_THREE = _TWO + _SYLLABLES**3 * _ENDINGS
MAX_WORDS = _THREE + _SYLLABLES**4 * _ENDINGS
"""Words 0 .. MAX_WORDS - 1 can be spelled."""
_SCATTER = 1_000_003
"""Multiplying by a prime, modulo the number of words of one length, shuffles them: neighbours do not look alike."""

_CAPITAL = 32
_SPACE, _STOP = np.uint8(ord(" ")), np.uint8(ord("."))


@helper
def letters(word: int) -> int:
    """Length of the spelled word."""
    return 6 if word < _TWO else 8 if word < _THREE else 10


@helper
def spell(word: int, out: NDArray[np.uint8], at: int) -> int:
    """Write the word's letters at out[at:], return where they end."""
    length = letters(word)
    low, high = (0, _TWO) if length == 6 else (_TWO, _THREE) if length == 8 else (_THREE, MAX_WORDS)
    rest = (np.int64(word) - low) * _SCATTER % (high - low)
    end = at + length
    ending = rest % _ENDINGS
    out[end - 2] = _CODAS[2 * ending]
    out[end - 1] = _CODAS[2 * ending + 1]
    rest = rest // _ENDINGS
    for i in range(end - 4, at - 1, -2):
        syllable = rest % _SYLLABLES
        rest = rest // _SYLLABLES
        out[i] = _ONSETS[syllable // _VOWELS.size]
        out[i + 1] = _VOWELS[syllable % _VOWELS.size]
    return end


@kernel
def measure_words(words: NDArray[np.int32], ends: NDArray[np.int32]) -> int:
    """Where each spelled word ends when they stand one after the other."""
    at = 0
    ends[0] = 0
    for i in range(words.size):
        at += letters(words[i])
        ends[i + 1] = at
    return at


@kernel
def write_words(words: NDArray[np.int32], out: NDArray[np.uint8]) -> None:
    """The spelled words one after the other."""
    at = 0
    for i in range(words.size):
        at = spell(words[i], out, at)


@kernel
def measure_texts(offsets: NDArray[np.int64], words: NDArray[np.int32], ends: NDArray[np.int32]) -> int:
    """Where each text ends: its words, with a space or a full stop after each."""
    at = 0
    ends[0] = 0
    for i in range(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            at += letters(words[j]) + 1
        ends[i + 1] = at
    return at


@kernel
def write_texts(offsets: NDArray[np.int64], words: NDArray[np.int32], out: NDArray[np.uint8]) -> None:
    """The texts one after the other, each with a capital at its start and a full stop at its end."""
    at = 0
    for i in range(offsets.size - 1):
        begin = at
        for j in range(offsets[i], offsets[i + 1]):
            at = spell(words[j], out, at)
            out[at] = _SPACE
            at += 1
        if at > begin:
            out[begin] -= _CAPITAL
            out[at - 1] = _STOP


def spelled(words: NDArray[np.int32]) -> pa.StringArray:
    """Each word as a string."""
    ends = np.empty(words.size + 1, np.int32)
    out = np.empty(measure_words(words, ends), np.uint8)
    write_words(words, out)
    return pa.StringArray.from_buffers(words.size, pa.py_buffer(ends), pa.py_buffer(out))


def texts(offsets: NDArray[np.int64], words: NDArray[np.int32]) -> pa.StringArray:
    """Each message's words as one text."""
    ends = np.empty(offsets.size, np.int32)
    out = np.empty(measure_texts(offsets, words, ends), np.uint8)
    write_texts(offsets, words, out)
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(ends), pa.py_buffer(out))
