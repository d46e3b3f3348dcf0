"""All that can be seen of an engine, to tell that an operation left no trace, or that two engines are alike."""

from dataclasses import replace


def state(engine):
    """Everything, the engine's own counters included."""
    vocabulary = engine.vocabulary
    return (
        [(engine.subscription(id), engine.top(id)) for id in engine],
        engine.stats(),
        (len(vocabulary), vocabulary.documents, [vocabulary.frequency(term) for term in range(len(vocabulary))]),
    )


def answers(engine):
    """Everything but the counters, which also hold how long things took."""
    lists, stats, words = state(engine)
    return lists, replace(stats, counters={}), words


def pairs(ranked):
    """A list as [(message, score)]."""
    return [(entry.seq, entry.score) for entry in ranked]


def seqs(ranked):
    """A list as its messages."""
    return [entry.seq for entry in ranked]
