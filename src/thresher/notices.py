"""What the library would like to tell whoever waits; shells take it up, and nobody else has to."""

from collections.abc import Callable

listeners: list[Callable[[str], None]] = []


def tell(text: str) -> None:
    """Tell a line to all who listen."""
    for listener in listeners:
        listener(text)
