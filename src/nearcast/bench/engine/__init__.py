"""`nearcast bench engine`: one engine under one load, beside the floor of its own buffer updates (DESIGN.md §7).

In the order of a run: options → prepare → phases (watched by recording) → floor → check → report; `run` is the story.
"""
