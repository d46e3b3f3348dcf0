"""The demo: a seeded stream of made-up messages at real places, and lists that re-rank in the terminal."""
