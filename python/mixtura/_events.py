"""Warns about events during a fit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning


def warn_of_reseeds(events: Sequence[dict[str, Any]], stacklevel: int) -> None:
    """Warns which components lost all their rows and were moved, and in which rounds."""
    moved = [event for event in events if event["kind"] == "reseeded"]
    if moved:
        told = "; ".join(f"component {event['component']} {_rounds(event)}" for event in moved)
        warnings.warn(
            f"Components without rows were moved to rows drawn from the data: {told}. There may be fewer groups than "
            "n_components, or the start was far from the data.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


def _rounds(event: dict[str, Any]) -> str:
    if event["count"] == 1:
        return f"in round {event['first']}"
    return f"in {event['count']} rounds, {event['first']} to {event['last']}"
