"""Shows the progress of a fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

#: Called with the number of a round and the mean log-likelihood; a true return value stops the fit.
Callback = Callable[[int, float], object]


def _is_watched() -> bool:
    """Whether a bar would be visible: in a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Bar:
    """A progress bar for the rounds of a fit, or for the completed share of a longer task."""

    def __init__(self, what: str, total: float, is_wanted: bool, *, is_share: bool = False) -> None:
        self._bar = None
        if is_wanted and _is_watched():
            from tqdm.auto import tqdm

            form = "{l_bar}{bar}| {elapsed}<{remaining}" if is_share else None
            self._bar = tqdm(total=total, desc=what, leave=False, unit="round", bar_format=form)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def is_shown(self) -> bool:
        return self._bar is not None

    def move(self, reached: float, text: str = "") -> None:
        """Moves the bar to a round or share."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(reached - self._bar.n)
