"""From word ids to weighted vectors (paper, section 3: tf-idf, unit length), for a whole batch in one call.

The words of all texts come in one array, each text ended by BREAK, stop words as DROPPED. All arithmetic is float64
with nothing but log and sqrt, and a vector's words are summed in descending order of id: the same bits compiled or not,
batched or one by one.
"""

from __future__ import annotations

import math

import numpy as np

from nearcast.kernels.jit import kernel, routine

DROPPED = -1
BREAK = -2
UNIT = 1.0 / (1 << 24)  # weights are multiples of this, so that sums of their products are exact (see kernels/score.py)


@routine
def sort_descending(values, start, stop):
    """Sort a slice in place: by insertion while it is short, as nearly all are."""
    if stop - start > 48:
        values[start:stop] = np.sort(values[start:stop])[::-1].copy()
        return
    for i in range(start + 1, stop):
        value = values[i]
        j = i
        while j > start and values[j - 1] < value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@routine
def distinct(ids, given, texts, offsets, terms, raw):
    """Each text's distinct terms in descending order; `raw` takes how often each stands there, or its given weight."""
    used = 0
    i = 0
    for text in range(texts):
        offsets[text] = used
        start = used
        if len(given) > 0 and given[i] > 0.0:  # distinct and in order already
            while ids[i] != BREAK:
                terms[used] = ids[i]
                raw[used] = given[i]
                used += 1
                i += 1
            i += 1
            continue
        while ids[i] != BREAK:
            if ids[i] >= 0:
                terms[used] = ids[i]
                used += 1
            i += 1
        i += 1
        sort_descending(terms, start, used)
        stop = used
        used = start
        for j in range(start, stop):
            if used > start and terms[used - 1] == terms[j]:
                raw[used - 1] += 1.0
            else:
                terms[used] = terms[j]
                raw[used] = 1.0
                used += 1
    offsets[texts] = used
    return used


@routine
def weigh(raw, start, stop, weights):
    """Scale a vector to unit length, then round each weight to a multiple of UNIT, never to 0."""
    total = 0.0
    for j in range(start, stop):
        total += raw[j] * raw[j]
    norm = math.sqrt(total)
    for j in range(start, stop):
        weights[j] = max(1.0, math.floor(raw[j] / norm / UNIT + 0.5)) * UNIT


@kernel
def vectors(ids, given, texts, documents, frequencies, learn, limit):
    """Offsets, terms and weights of each text, and whether none has more than `limit` distinct terms.

    `given` is empty, or as long as `ids` with 0 for words to be weighted by tf-idf. With `learn`, each text is weighted
    with the counts before it and then counted; without room for some text (see `limit`), nothing is counted.
    """
    offsets = np.empty(texts + 1, np.int64)
    terms = np.empty(len(ids), np.int32)
    raw = np.empty(len(ids), np.float64)
    used = distinct(ids, given, texts, offsets, terms, raw)
    weights = np.empty(used, np.float32)
    for text in range(texts):
        if offsets[text + 1] - offsets[text] > limit:
            return offsets, terms[:used].astype(np.uint32), weights, False
    i = 0
    for text in range(texts):
        start = offsets[text]
        stop = offsets[text + 1]
        if len(given) == 0 or not given[i] > 0.0:
            for j in range(start, stop):
                seen = np.float64(frequencies[terms[j]])
                frequency = 1.0 if raw[j] == 1.0 else 1.0 + math.log(raw[j])
                raw[j] = frequency * math.log(1.0 + (1.0 + documents) / (1.0 + seen))
        weigh(raw, start, stop, weights)
        if learn:
            for j in range(start, stop):
                frequencies[terms[j]] += 1
            documents += 1
        if len(given) > 0:
            while ids[i] != BREAK:
                i += 1
            i += 1
    return offsets, terms[:used].astype(np.uint32), weights, True


@kernel
def count(ids, texts, frequencies):
    """Add to each word's document frequency the texts that hold it."""
    offsets = np.empty(texts + 1, np.int64)
    terms = np.empty(len(ids), np.int32)
    raw = np.empty(len(ids), np.float64)
    used = distinct(ids, raw[:0], texts, offsets, terms, raw)
    for j in range(used):
        frequencies[terms[j]] += 1
