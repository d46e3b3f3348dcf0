"""What the made-up messages say: topics, each with sentences and words to fill their gaps."""

from __future__ import annotations

import random
from typing import NamedTuple


class Topic(NamedTuple):
    """`weight` is how often it is talked about; {place} is the place's name, for other gaps see WORDS."""

    weight: float
    sentences: tuple[str, ...]


TOPICS = {
    "food": Topic(
        5,
        (
            "Half-price {dish} at {diner} until {hour}",
            "New on the menu at {diner}: {taste} {dish}",
            "{taste} {dish} and {dish}, a table is free now",
            "Free {dish} for the first 20 guests at {diner}",
            "Queue around the block for the {taste} {dish}",
            "Last portions of {taste} {dish} at {diner}",
            "Best {dish} in {place}? {diner}, no question",
            "Cooking class tonight: {taste} {dish}, two seats left",
        ),
    ),
    "concert": Topic(
        3,
        (
            "{genre} concert at the {venue}, doors at {hour}",
            "Two tickets for {band} to give away",
            "{band} live at the {venue} tonight, tickets at the door",
            "Secret {genre} gig at the {venue}, {hour}",
            "Resale tickets for {band} from {price}",
            "Free live {genre} in the park until {hour}",
            "Open stage at the {venue}: {genre}, anyone can play",
        ),
    ),
    "outage": Topic(
        1.5,
        (
            "Power outage in {place}: {number} homes dark",
            "Blackout on {street}, crew on the way",
            "Power is back in parts of {place}",
            "Transformer blown on {street}, {number} without power",
            "Planned power outage tomorrow on {street}, {hour}",
            "Brief power cut, traffic lights out on {street}",
            "Outage report: {number} customers, repair by {hour}",
        ),
    ),
    "storm": Topic(
        1.5,
        (
            "Storm warning for {place} until {hour}",
            "Flash flood warning: keep away from the river",
            "{street} under water, flood water still rising",
            "Storm tears off roofs in {place}",
            "Flood shelter open at the {place} school",
            "Heavy rain over {place}, storm drains overflow",
            "Fallen tree blocks {street} after the storm",
        ),
    ),
    "train": Topic(
        4,
        (
            "Line {line}: train delayed by {minutes} minutes",
            "Train to {place} cancelled, signal failure",
            "Replacement bus instead of line {line} until {hour}",
            "Platform change in {place} for the {hour} train",
            "Line {line} runs again, delays of {minutes} minutes",
            "Strike: every second train on line {line} cancelled",
        ),
    ),
    "home": Topic(
        3,
        (
            "Bright room to rent near {street}, {price} a week",
            "Two-room flat with balcony to rent in {place}",
            "Quiet flat, garden, dogs welcome, free from May",
            "Looking for a flatmate: big room on {street}",
            "Open viewing at {hour}: flat with balcony, {street}",
            "Sublet in {place}: sunny room for the summer",
        ),
    ),
    "market": Topic(
        4,
        (
            "For sale: {thing}, {price}, pick up in {place}",
            "To give away: {thing}, come and get it",
            "Wanted: {thing}, any condition",
            "Flea market on {street} until {hour}",
            "Swap: my {thing} for your {thing}",
        ),
    ),
    "pets": Topic(
        2,
        (
            "Lost {animal}, grey, last seen on {street}",
            "Found a friendly {animal} near {street}",
            "Who can walk my {animal} this weekend?",
            "Kittens looking for a home in {place}",
        ),
    ),
    "sport": Topic(
        3,
        (
            "Five-a-side at {hour}, two players missing",
            "Running group meets on {street} at {hour}",
            "{place} marathon: roads closed until {hour}",
            "Who is up for tennis at {hour}?",
            "Yoga in the park, {hour}, bring a mat",
        ),
    ),
    "work": Topic(
        3,
        (
            "{diner} is looking for a {job}",
            "{job} wanted in {place}, start now",
            "Weekend shift for a {job}, {price} an hour",
            "Free workshop for every {job} at {hour}",
        ),
    ),
}

WORDS = {
    "animal": ("cat", "dog", "parrot", "tortoise"),
    "band": ("The Tall Ships", "Blue Harbour", "Nina & the Kites", "Paper Moon", "Old North", "Lamplight Trio"),
    "diner": ("Miso Corner", "Green Bowl", "Casa Luna", "Noodle Works", "The Copper Pan", "Mama Rosa", "Salt & Lime"),
    "dish": ("ramen", "ramen noodles", "tacos", "dumplings", "falafel", "pho", "pizza", "curry", "bao", "noodle soup"),
    "genre": ("Jazz", "Indie", "Techno", "Folk", "Salsa", "Blues", "Afrobeat"),
    "hour": ("5 pm", "6 pm", "7 pm", "8 pm", "9 pm", "10 pm", "midnight"),
    "job": ("barista", "cook", "nurse", "carpenter", "driver", "web developer", "gardener"),
    "line": ("1", "2", "4", "7", "U8", "S3", "12"),
    "minutes": ("5", "10", "15", "20", "25", "40", "60"),
    "number": ("40", "120", "300", "850", "1,400", "2,600"),
    "price": ("$8", "$15", "$20", "$45", "$60", "$120", "$300"),
    "street": (
        "Mill Road",
        "Station Street",
        "Harbour Lane",
        "Church Street",
        "Park Avenue",
        "Bridge Road",
        "High Street",
    ),
    "taste": ("vegan", "spicy", "hand-made", "vegan", "grilled", "fresh", "crispy"),
    "thing": ("old bicycle", "bookshelf", "record player", "desk", "guitar", "pram", "coffee machine", "camera"),
    "venue": ("Blue Note", "Harbour Hall", "Old Brewery", "Lighthouse", "Cellar Club", "Town Hall"),
}


class _Gaps(dict[str, str]):
    """Fills a gap when a sentence asks for it: the same gap twice gets two words."""

    def __init__(self, rng: random.Random, place: str) -> None:
        super().__init__()
        self.rng = rng
        self.place = place

    def __missing__(self, gap: str) -> str:
        return self.place if gap == "place" else self.rng.choice(WORDS[gap])


def sentence(rng: random.Random, topic: str, place: str) -> str:
    """One message about a topic."""
    text = rng.choice(TOPICS[topic].sentences).format_map(_Gaps(rng, place))
    return text[0].upper() + text[1:]


def any_topic(rng: random.Random) -> str:
    """A topic, as often as its weight says."""
    return rng.choices(list(TOPICS), [topic.weight for topic in TOPICS.values()])[0]
