"""What a run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nearcast.errors import InvalidInput


@dataclass(frozen=True)
class Options:
    """The command's options, see `nearcast bench engine --help`."""

    workload: str = "tweets"
    subscriptions: int = 1_000_000
    window: int = 1_000_000
    k: int = 20
    messages: int = 20_000
    threads: int = 2
    seed: int = 1
    space: Literal["plane", "earth"] = "plane"
    max_km: float | None = None
    batch: int = 2048
    order: Literal["blocks", "paper"] = "blocks"
    check: int = 200
    singles: int = 2000
    floor: bool = True

    def require_sound(self) -> None:
        """Refuse options that contradict each other."""
        if self.max_km is not None and self.space == "plane":
            raise InvalidInput("max-km", "goes with --space earth; the plane's MaxDist is its diagonal")

    @property
    def stream(self) -> int:
        """Messages that the whole run takes."""
        return self.window + self.messages + self.singles
