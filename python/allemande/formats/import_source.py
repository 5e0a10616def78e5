"""What stands where a cluster is named: `KIND:FILE,key=value`, the file and its options.

Options give what a description lacks: `slurm:FILE,rate_mbit_s=10000/40000`. Rates stand from the
hosts' links upwards; the last one holds for all levels above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from allemande.errors import BadInput
from allemande.formats.recognise import check_kind
from allemande.text_files import is_file, read_text, shown

RATE_MAX = 1e9  # Mbit/s
GO_ON = "put # before the line to read the rest"
# Blanks and capitals, too, so that a slip is called no option, and no file's name.
_OPTION = re.compile(r"(.+),([A-Za-z_ \t]+)=([^,]*)", re.DOTALL)

# key -> what it says
OPTIONS: Mapping[str, str] = {
    "rate_mbit_s": "rates, from the hosts' links upwards: 10000/40000",
    "latency_us": "the delay of every cable",
    "queue_packets": "the queue of every switch port",
    "mtu_bytes": "the largest IP packet",
    "root": "which part of the network, by one of its switches",
}


@dataclass(frozen=True)
class Source:
    """What stands where a cluster is named: `slurm:FILE,key=value`."""

    kind: str
    path: Path
    options: Mapping[str, str]

    @property
    def name(self) -> str:
        """The file, as messages have it."""
        return shown(self.path)

    def at(self, line: int | None) -> str:
        return self.name if line is None else f"{self.name}:{line}"

    def number(self, key: str, low: float, high: float, whole: bool = False) -> float | None:
        """An option's value; BadInput where it is none from `low` to `high`."""
        text = self.options.get(key)
        if text is None:
            return None
        kind = "a whole number" if whole else "a number"
        if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text):
            raise BadInput(f"{self.kind}: {key} {text!r:.40} is not valid; expected {kind}")
        value = float(text)
        if whole and not value.is_integer():
            raise BadInput(f"{self.kind}: {key}={text} is no whole number; expected one, as in 45")
        if not low <= value <= high:
            raise BadInput(
                f"{self.kind}: {key}={text} is out of range; expected {low:g} to {high:g}"
            )
        return value

    def rates(self) -> list[float] | None:
        """Mbit/s by level, from the hosts' links upwards."""
        text = self.options.get("rate_mbit_s")
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?(/[0-9]{1,12}(\.[0-9]{1,6})?){0,15}", text):
            raise BadInput(
                f"{self.kind}: rate_mbit_s {text!r:.40} is not valid; expected Mbit/s, from the "
                "hosts' links upwards, as in 10000/40000"
            )
        rates = [float(word) for word in text.split("/")]
        if not all(0 < rate <= RATE_MAX for rate in rates):
            raise BadInput(
                f"{self.kind}: rate_mbit_s={text} is out of range; expected a number above 0, at "
                f"most {RATE_MAX:.0f}"
            )
        return rates

    def read(self, expected: str, bytes_max: int | None = None) -> str:
        """The file's text; BadInput for what is no text, and for what another kind of file is."""
        text = read_text(self.path, expected, bytes_max)
        check_kind(text, self.kind, self.name)
        return text


def parse_source(text: str, keys: Iterable[str]) -> Source:
    """`KIND:FILE,key=value,...`; commas without a key after them belong to the file's name."""
    kind, _, rest = text.partition(":")
    options: dict[str, str] = {}
    while not is_file(rest) and (match := _OPTION.fullmatch(rest)):
        rest, key, value = match.groups()
        if key not in keys:
            raise BadInput(
                f"{shown(text)!r}: {key!r} is no option of {kind}; expected some of: "
                f"{', '.join(sorted(keys))}"
            )
        if key in options:
            raise BadInput(f"{shown(text)!r}: {key}= is given twice; expected it once")
        if not value.strip():
            raise BadInput(f"{shown(text)!r}: {key}= says nothing; expected {key}=VALUE")
        options[key] = value
    if not rest:
        raise BadInput(f"{text!r} names no file; expected {kind}:FILE")
    return Source(kind, Path(rest), options)
