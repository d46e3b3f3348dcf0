"""All that can be seen of an engine, to tell that an operation left no trace."""


def state(engine):
    vocabulary = engine.vocabulary
    return (
        [(engine.subscription(id), engine.top(id)) for id in engine],
        engine.stats(),
        (len(vocabulary), vocabulary.documents, [vocabulary.frequency(term) for term in range(len(vocabulary))]),
    )


def pairs(ranked):
    """A list as [(message, score)]."""
    return [(entry.seq, entry.score) for entry in ranked]


def seqs(ranked):
    """A list as its messages."""
    return [entry.seq for entry in ranked]
