"""What terminals obey, and what editors and Python count lines differently with."""

from __future__ import annotations

import re

# No text of a user has one. Lines end in "\n" alone by the time that this is looked for.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_OBEYED = re.compile(rf"{CONTROL.pattern}|\r")


def told(message: str) -> str:
    """A message for a terminal: lines and blanks stay, what else it would obey is escaped."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], message)
