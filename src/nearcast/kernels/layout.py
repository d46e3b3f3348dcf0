"""The state of the engine: NamedTuples of flat arrays, and the meaning of every column.

All arrays are views of arenas (see `nearcast.memory`) that reserve address space once, so no kernel ever has to grow
one. Rows that are read together lie in one cache line: a subscription's row is 64 bytes, seen as float64, float32 and
uint32.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearcast.kernels.geometry import World

NONE = np.uint32(0xFFFFFFFF)
"""No row: the end of a linked list, a free place."""

SLOT_BITS = 28
SLOT_MASK = (1 << SLOT_BITS) - 1
"""A message's slot is its seq modulo 2**28: the window is a ring of addresses, and only its live part has memory."""

TERM_RING = 1 << 31
"""Places in the ring of message term vectors."""

SPAN_BITS = 13
"""A message's span holds (start << 13) | number of terms."""

# --- A subscription's row: 8 float64 = 16 float32 = 16 uint32 columns -------------------------------------------------
S_X, S_Y, S_Z = 0, 1, 2  # float64: the embedded point
S_ALPHA = 6  # float32
S_THETA = 7  # float32: the buffer holds the k-skyband of the live messages that score at least this; 0: of all matches
S_K = 8
S_COUNT = 9  # entries in the buffer
S_BUFFER = 10  # where the buffer lies, in units of 16 bytes
S_CAPACITY = 11  # entries the buffer has room for
S_TERMS = 12  # first row of its terms
S_NTERMS = 13  # 0 = this row is not a subscription (any more)
S_NEXT = 14  # next subscription whose oldest entry is the same message
S_NUMBER = 15  # registration number: the order in which changes are reported

UNLINKED = np.uint32(0xFFFFFFFE)
"""S_NEXT of a subscription that stands in no calendar list."""


class Subscriptions(NamedTuple):
    """One shard's subscriptions and their result buffers (paper 5.3 'subscription table', 6.1)."""

    f64: np.ndarray  # [row, 8] the rows above
    f32: np.ndarray  # [row, 16] the same memory
    u32: np.ndarray  # [row, 16] the same memory
    flat: np.ndarray  # uint32, one-dimensional: the same memory
    terms_flat: np.ndarray  # uint32, one-dimensional: the memory of terms
    terms: np.ndarray  # uint32 [place, 4]: term, weight (bits), place of its posting within the term's list, unused
    code: np.ndarray  # uint32 [row]: Morton code of the place: the path through the quadtree
    term_ids: np.ndarray  # uint32, strided view of terms: column 0
    term_weights: np.ndarray  # float32, strided view of terms: column 1
    buffer_f32: np.ndarray  # float32: buffers; each is [scores][stamps][dominance counters]
    buffer_u32: np.ndarray  # the same memory
    buffer_u16: np.ndarray  # the same memory
    due: np.ndarray  # uint32 [slot]: 1 + first subscription whose oldest entry is this message (the calendar)
    flag: np.ndarray  # uint8 [row]: F_* within one operation
    control: np.ndarray  # int64: the counters C_* below
    free: np.ndarray  # uint32 [2, 128]: 1 + first free chunk by size class: buffers, terms


F_TOUCHED = np.uint8(1)  # its list before the operation has been put by
F_PENDING = np.uint8(2)  # its buffer underflowed: it stands in no calendar list until it is settled

C_ROWS = 0  # rows ever used
C_FREE_ROW = 1  # 1 + first free row
C_LIVE = 2  # subscriptions registered
C_BUFFER_USED = 3  # end of the used buffer memory, in units of 16 bytes
C_TERMS_USED = 4
C_POSTINGS_USED = 5
C_DIRECTORY_USED = 6
C_ENTRIES = 7  # entries in all buffers
C_SIZE = 16

# --- Counters of what happened (see `nearcast.stats`) -----------------------------------------------------------------
N_MESSAGES = 0
N_LISTS = 1  # posting lists opened
N_CELLS = 2  # cells looked at (in our order: runs of 32 blocks)
N_CELLS_SKIPPED = 3  # by Lemma 6 (cell pruning), or by a run's header
N_GROUPS = 4  # groups looked at (in our order: blocks)
N_GROUPS_SKIPPED = 5  # by Theorem 3, or by a block's header
N_POSTINGS_CELL = 6  # postings that cell pruning saved
N_POSTINGS_GROUP = 7  # postings that whole-group skips saved
N_POSTINGS_EARLY = 8  # postings that early termination saved
N_POSTINGS = 9  # postings looked at
N_LENGTH = 10  # postings rejected by the lengths of the keywords still to come (with the spatial bound of the cell)
N_PREFIX = 11  # rejected by the refined location-aware prefix
N_UNSEEN = 12  # rejected by the bound for unseen keywords
N_POINT = 13  # rejected by the distance of the point itself, in the same pass
N_REPEATED = 14  # decided at a rarer common keyword already
N_VERIFIED = 15
N_AFFECTED = 16
N_EXPIRED = 17  # messages expired
N_DUE = 18  # subscriptions visited for an expired message
N_REMOVED = 19  # buffer entries removed by expiry
N_EVICTED = 20  # buffer entries evicted by dominance
N_REFILLS = 21
N_REFILL_WORK = 22  # work units of all refills (see refill.py)
N_RAISED = 23  # thresholds raised without a search
N_CHANGES = 24
N_SEARCH_POSTINGS = 25
N_SEARCH_BLOCKS = 26
N_SEARCH_SCORED = 27
N_PACKS = 28
N_SIGNATURE = 29  # rejected by what those later keywords can bring that the signatures have in common
T_EXPIRE = 32  # ticks per stage
T_FILTER = 33
T_VERIFY = 34
T_OFFER = 35
T_REFILL = 36
T_CHANGES = 37
N_SIZE = 48


class Postings(NamedTuple):
    """One shard's inverted lists, keyword first (paper 5.3; `blocks` and `pack` order a list)."""

    lists: np.ndarray  # uint32 [term, 8]: the columns L_*
    starts: np.ndarray  # uint32, strided view of lists: column L_START, to prefetch a row by
    eights: np.ndarray  # uint8 [posting / 32, 512]: all that the first test reads, a block of 32 postings a row: Q_*
    halves: np.ndarray  # uint16 [posting / 32, 256]: the same memory, the columns H_*
    words: np.ndarray  # uint32 [posting / 32, 128]: the same memory, the columns O_*
    words_flat: np.ndarray  # uint32, one-dimensional: the same memory
    owner: np.ndarray  # uint32 [posting]: the subscription's row
    block: np.ndarray  # float32 [posting / 1024, K_SIZE, 32]: K_* of each block, those of 32 blocks side by side
    block_flat: np.ndarray  # the same memory, one-dimensional
    cell: np.ndarray  # float32 [posting / 1024, 16]: K_* of 32 blocks
    cell_flat: np.ndarray  # the same memory, one-dimensional
    # Only where lists are in the paper's order, else without a row:
    paper: np.ndarray  # float32 [3, posting]: the rows P_*
    suffix: np.ndarray  # float32 [posting / 32, 8]: G_* of the rest of a group from a block on
    rows_f32: np.ndarray  # float32 [row, 16]: directories: cells, then groups
    rows_u32: np.ndarray  # the same memory
    free: np.ndarray  # uint32 [2, 40]: 1 + first free chunk by power of two: postings, directory rows
    values: np.ndarray  # float32 [VALUES]: room for what one posting stands for (see compact.py)


BLOCK = 32
"""Postings a block; lists of at most a block are tested without looking at headers."""
CELL = BLOCK * BLOCK

L_START, L_COUNT, L_CAPACITY, L_PACKED, L_ROWS, L_CELLS, L_GROUPS, L_DIRTY = 0, 1, 2, 3, 4, 5, 6, 7

# A message can affect a subscription only if alpha*S + (1-alpha)*T >= theta. With S = 1 - reach, reach being the
# distance in MaxDist, and what a keyword of weight w_m and the later ones of length r_m can bring to T, that is,
# without any division,
#     taste * w_m + rest * r_m >= need + far * reach
# with taste = (1-alpha) * weight, rest = (1-alpha) * length of the subscription's later keywords, need = theta - alpha
# and far = alpha. It is linear, so the greatest taste and rest, the least need and far and the box bound a block.
# A block's columns, 32 lanes each, in codes (see compact.py):
O_LATER = 0  # fingerprints of the subscription's later keywords (see signatures.py): the first four, or one repeated
H_NEED, H_X, H_Y, H_Z = 64, 96, 128, 160
Q_TASTE, Q_REST, Q_FAR = 384, 416, 448
Q_LATER = 480  # how many later keywords there are, up to 255
BLOCK_BYTES = 512
K_TASTE, K_REST, K_NEED, K_FAR, K_BOX = 0, 1, 2, 3, 4  # of a block: greatest, greatest, least, least, box on the grid
K_LATER = 10  # most later keywords
K_SIZE = 11
P_SUM, P_MAX, P_INNER = 0, 1, 2  # sum and maximum of the later keywords' weights; distance from the cell's boundary

# A directory row of a cell: its box, the least spatial threshold (Lemma 6), its groups
D_BOX, D_SPATIAL, D_FIRST, D_END = 0, 6, 7, 8  # first and end group of the cell
# Statistics of a group (directory row) or of the rest of a group from a block on (Theorem 4)
G_THETA, G_LOW, G_HIGH, G_WEIGHT, G_REST, G_MAX = 0, 1, 2, 3, 4, 5
G_FIRST, G_END = 6, 7  # only in directory rows: postings of the group, counted from the list's start


class Messages(NamedTuple):
    """The window: every live message by slot (paper 4)."""

    place: np.ndarray  # float64 [slot, 4]: embedded point, where its terms lie (bits)
    span: np.ndarray  # int64, strided view of place: column 3: (first term << 13) | number of terms
    signature: np.ndarray  # uint64 [slot]: of its words
    time: np.ndarray  # float64 [slot]
    code: np.ndarray  # uint32 [slot]: Morton code of the place
    terms: np.ndarray  # uint32 [place, 2]: ring of term vectors: term, weight (bits)
    term_ids: np.ndarray  # uint32, strided view of terms
    term_weights: np.ndarray  # float32, strided view of terms
    control: np.ndarray  # int64: the columns A_* below


A_TERMS = 0  # terms ever written: the ring's head
A_NEXT = 1  # seq of the next message
A_FIRST = 2  # seq of the oldest live message


class MessageIndex(NamedTuple):
    """Postings of the window's messages in three tiers: chained head, small segments, large segments (segments.py)."""

    last: np.ndarray  # uint32 [term, 4]: 1 + newest head posting, 1 + newest small run, 1 + newest large run, unused
    head: np.ndarray  # uint32 [posting, 4]: 1 + previous posting of the term, stamp, weight (bits), term
    head_weights: np.ndarray  # float32, the same memory
    runs: np.ndarray  # uint32 [2, run, 8]: the columns R_*
    postings: np.ndarray  # uint32 [2, posting, 3]: stamp, weight (bits), short signature of the message
    weights: np.ndarray  # float32, the same memory
    block: np.ndarray  # float32 [2, posting / 32, 8]: box, least and greatest weight of 32 postings
    control: np.ndarray  # int64: the columns I_*


R_PREVIOUS, R_FIRST, R_COUNT, R_NEWEST, R_TERM = 0, 1, 2, 3, 4  # newest: stamp of the run's newest posting
I_HEAD_USED = 0  # postings in the head
I_HEAD_FIRST = 1  # seq of the head's first message
I_SMALL_FIRST = 2  # seq of the first message of the small segments
I_HEAD_SIZE = 3  # messages that are sealed into a small segment
I_LARGE_SIZE = 4  # messages that are merged into a large segment
I_RUNS = 5  # and 6: runs used per tier
I_POSTINGS = 7  # and 8: postings used per tier
RUN_RING = 1 << 28
POSTING_RING = 1 << 30


class Scratch(NamedTuple):
    """Room for one message's way through one shard; nothing in it outlives the message."""

    pieces: np.ndarray  # int64 [piece, 3]: postings of a block to test: first, end, which keyword of the message
    distances: np.ndarray  # float32 [piece, 2]: how far the cell is away, in MaxDist, and 1 / MaxDist or 0: what a
    # posting's distance from the boundary adds to it
    mask: np.ndarray  # uint8 [32]: verdicts on a block's postings, or on a cell's blocks
    mask_words: np.ndarray  # uint64: the same memory, eight at a time
    candidates: np.ndarray  # uint32 [candidate, 2]: postings to verify: place, which keyword of the message
    hit_rows: np.ndarray  # uint32: rows whose buffers take the message
    hit_scores: np.ndarray  # float32
    due_rows: np.ndarray  # uint32: rows visited for expired messages
    pending: np.ndarray  # uint32: rows whose buffer underflowed
    touched: np.ndarray  # uint32 [event, 8]: subscriptions whose list changed, the columns E_* of report.py
    before_stamps: np.ndarray  # uint32: lists as they were before the operation
    before_scores: np.ndarray  # float32
    found_scores: np.ndarray  # float32: what a search found
    found_bits: np.ndarray  # uint32: the same memory
    found_stamps: np.ndarray  # uint32
    order: np.ndarray  # int64: order of what was found, or of the subscriptions touched
    keys: np.ndarray  # int64: what is sorted by
    sky: np.ndarray  # int64 [3, entry]: a skyband being built: ages, dominators, rows
    heap: np.ndarray  # float32 [rank]: the best scores of a search
    query: np.ndarray  # float64 [4 + 2 * keywords]: a search's subscription
    bits: np.ndarray  # uint64 [keywords]: its signatures
    short_bits: np.ndarray  # uint32 [keywords]
    buckets: np.ndarray  # int64 [BUCKETS + 1]
    sight: np.ndarray  # float32 [V_SIZE]: the message's place and the settings of the first test
    word_bits: np.ndarray  # uint32 [keywords + 1]: signature of the message from each keyword on
    heavy_bits: np.ndarray  # uint32 [keywords + 1]: the same of its heavy words only
    print_heads: np.ndarray  # uint32 [256]: 1 + last keyword with this fingerprint
    print_next: np.ndarray  # uint32 [keywords]: 1 + the one before it with the same
    word_keys: np.ndarray  # float32 [keywords, M_SIZE]: each keyword's side of the tests
    word_places: np.ndarray  # uint32: a hash table of the message's words: 1 + which keyword, 0 = free
    state: np.ndarray  # int64 [3]: events, end of before-lists, subscriptions that underflowed
    score_bits: np.ndarray  # uint32 [1]
    score: np.ndarray  # float32 [1], the same memory
    block_bounds: np.ndarray  # float32: blocks that a search may have to open
    blocks: np.ndarray  # int64 [block, 2]: 2 * first posting + tier, and (term of the subscription << 8) + postings
    passed: np.ndarray  # int64 [BLOCK, 2]: postings of a block that may score enough: stamp, slot
    passed_near: np.ndarray  # float64 [BLOCK]: what their places bring
    passed_text: np.ndarray  # float64 [BLOCK]: the most that their words can bring
    block_near: np.ndarray  # float32: the most that place can bring in these blocks
    block_order: np.ndarray  # int64


# --- Switches: which pruning rules are on (see `nearcast.tuning`) -----------------------------------------------------
W_CELL, W_GROUP, W_EARLY, W_PREFIX, W_UNSEEN, W_OUTER, W_INNER = 0, 1, 2, 3, 4, 5, 6
W_LENGTH, W_POINT, W_SIGNATURE, W_SIZE = 7, 8, 9, 10


# --- What a message's tests have in common (`Scratch.sight`) ----------------------------------------------------------
V_X, V_MAX_DIST, V_SLACK, V_POINT = 0, 3, 4, 5  # place, embedded; 1 if the test of the point is on
V_GRID, V_STEP, V_DEPTH, V_SIZE = 6, 9, 10, 11  # place on the grid; a grid step in MaxDist; 0 on a plane, else 1
# Columns of `Scratch.word_keys`: maxwt(m.w), wt(m.w), wtsum, maxwt and length of what comes after w, wtsum(m.w)
M_MOST, M_WEIGHT, M_TOTAL_AFTER, M_MOST_AFTER, M_REST, M_TOTAL = 0, 1, 2, 3, 4, 5
M_LIGHT, M_SIZE = 6, 7  # length of the light words that come after


class Policy(NamedTuple):
    """What the engine decides from the outside: settings and the cost model's answers."""

    world: World
    slack: float  # what rounding may take from a bound in float32
    margin: float  # the distance from which on a message surely is outside of a cell's box
    switches: np.ndarray  # uint8 [W_SIZE]
    limits: np.ndarray  # int64: postings a cell, alpha groups (0: our order, blocks; else the paper's)
    target_rank: np.ndarray  # int32 [k]: a refill sets theta to the score of this rank (cost model, paper 6.2)
    target_size: np.ndarray  # int32 [k]: how many entries the buffer then has


class Changes(NamedTuple):
    """Where changes are written."""

    seq: np.ndarray  # int64
    row: np.ndarray  # uint32: the subscription's row
    number: np.ndarray  # uint32: its registration number
    kind: np.ndarray  # uint8
    cause: np.ndarray  # uint8
    message: np.ndarray  # int64
    rank: np.ndarray  # int32
    score: np.ndarray  # float32
    count: np.ndarray  # type: ignore[assignment]  # int64 [1]


class Trace(NamedTuple):
    """What a run did to the buffers of one shard (see trace.py)."""

    control: np.ndarray  # int64: the columns TRACE_*
    rows: np.ndarray  # uint32 [hit]
    scores: np.ndarray  # float32 [hit]
    steps: np.ndarray  # int64 [step, 2]: end of its hits, end of its refills
    refill_rows: np.ndarray  # uint32 [refill]
    refill_thetas: np.ndarray  # float32 [refill]
    refill_ends: np.ndarray  # int64 [refill]: end of its entries
    entry_scores: np.ndarray  # float32 [entry]
    entry_stamps: np.ndarray  # uint32 [entry]
