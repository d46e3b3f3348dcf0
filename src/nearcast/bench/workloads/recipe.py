"""What each generated workload looks like: the paper's Table 1 and the shape that a table cannot state.

The paper's data sets cannot be shipped, so each is imitated. Fixed by Table 1: messages, vocabulary, mean keywords a
message. Chosen by us, and open to be varied: the share of the most frequent words, how much of the text is tied to a
place or a topic, how places cluster. `global_words` is then the one free number, solved for so that the expected number
of distinct words of all `table_messages` messages is Table 1's (tests/unit/test_workloads.py computes the expectation).
Generated in full there were 1,698,473, 208,310 and 84,997 distinct words and 9.00, 6.99 and 37.10 a message.
"""

from __future__ import annotations

from dataclasses import dataclass

USA = (-125.0, 24.0, -66.5, 49.5)
"""The longitudes and latitudes in which the generated messages lie."""


@dataclass(frozen=True)
class Recipe:
    """The parameters of one generated workload."""

    name: str
    table_messages: int
    """Table 1: messages in the whole data set."""
    table_vocabulary: int
    """Table 1: distinct words in the whole data set."""
    table_words: float
    """Table 1: keywords a message, on average."""

    log_mean: float
    log_spread: float
    """Distinct words a message: lognormal, rounded, between 1 and `max_words`."""
    max_words: int

    global_words: int
    exponent: float
    shift: float
    """Words known everywhere: P(rank r) falls as (r + shift) ** -exponent (Zipf-Mandelbrot)."""

    local_share: float
    """Of the words of a message in a city, how many are that city's own (places, people, local affairs)."""
    local_words: int
    """How many own words the largest city has."""
    local_growth: float
    """A city of share p of the largest has p ** local_growth times as many, at least 20."""

    topics: int
    topic_messages: float
    """Share of the messages that have a topic."""
    topic_share: float
    """Of the words of a message with a topic, how many are the topic's."""

    cities: int
    city_exponent: float
    """Population of the city of rank r falls as r ** -city_exponent."""
    background: float
    """Share of the messages outside all cities, spread evenly."""
    venues: int
    """Messages stand at this many fixed points, the popular ones thousands of times; 0: each has its own place."""


TWEETS = Recipe(
    name="tweets",
    table_messages=12_700_000,
    table_vocabulary=1_700_000,
    table_words=9.0,
    log_mean=2.097,
    log_spread=0.45,
    max_words=30,
    global_words=2_186_300,
    exponent=1.25,
    shift=20.0,
    local_share=0.15,
    local_words=2000,
    local_growth=0.6,
    topics=2000,
    topic_messages=0.4,
    topic_share=0.35,
    cities=1000,
    city_exponent=1.0,
    background=0.1,
    venues=0,
)

GN = Recipe(
    name="gn",
    table_messages=2_200_000,
    table_vocabulary=208_000,
    table_words=7.0,
    log_mean=1.90,
    log_spread=0.3,
    max_words=20,
    global_words=143_500,
    exponent=1.3,
    shift=5.0,
    local_share=0.4,
    local_words=150,
    local_growth=0.4,
    topics=60,
    topic_messages=0.8,
    topic_share=0.2,
    cities=3000,
    city_exponent=0.6,
    background=0.3,
    venues=0,
)

YELP = Recipe(
    name="yelp",
    table_messages=1_600_000,
    table_vocabulary=85_000,
    table_words=37.0,
    log_mean=3.334,
    log_spread=0.75,
    max_words=300,
    global_words=72_100,
    exponent=1.2,
    shift=12.0,
    local_share=0.06,
    local_words=2000,
    local_growth=0.5,
    topics=300,
    topic_messages=1.0,
    topic_share=0.15,
    cities=12,
    city_exponent=0.8,
    background=0.02,
    venues=60_000,
)

RECIPES = {recipe.name: recipe for recipe in (TWEETS, GN, YELP)}
