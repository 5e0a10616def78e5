"""What can be compared: stock libraries, and each with allemande preloaded.

The lab gives every library its best settings; here stands only what tells candidates apart. An
algorithm of a library is one of a collective: not every candidate is there for each.

A candidate is written `NAME` or, for those with allemande, `NAME:option=value,option=value`, where
an option is a configuration name (`allemande config` lists them), for example
`allemande+openmpi:window_packets=7,algorithm=pairwise`. Stock libraries take a tuning file
(`openmpi:rules=FILE`, `mpich:selection=FILE`), and some of their algorithms a parameter
(`openmpi:linear-sync:reqs=4`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from allemande.bench.stock_options import USE_RULES, StockSetting, parse_setting
from allemande.config import check_value, variable_text
from allemande.errors import BadInput
from allemande.option_table import OPTIONS, Option
from allemande.stock_algorithms import MPICH_NAMES, OPENMPI_NUMBERS

OUR_PREFIX = "allemande+"
ALONE = "by-itself"  # preloaded, and nothing is said


@dataclass(frozen=True)
class Candidate:
    """One column of the comparison."""

    name: str
    library: str  # "openmpi" or "mpich": the prefix it runs from
    stock: bool
    description: str
    # The library's algorithm, by collective; None: its own choice, of every collective.
    algorithms: Mapping[str, str] | None = None
    usual: bool = True  # measured when nobody says what
    arguments: tuple[str, ...] = ()  # for the launcher
    netmod: str = "ofi"  # MPICH only
    environment: Mapping[str, str] = field(default_factory=dict)

    def with_options(self, text: str, options: str) -> Candidate:
        chosen = {**self.environment, **_parse_options(text, options)}
        return replace(
            self,
            name=text,
            description=f"{self.description}, with {options}",
            environment=chosen,
        )

    def with_setting(self, text: str, setting: StockSetting) -> Candidate:
        return replace(
            self,
            name=text,
            description=f"{self.description}, {setting.description}",
            algorithms=setting.algorithms or self.algorithms,
            arguments=(*self.arguments, *setting.arguments),
            environment={**self.environment, **setting.environment},
        )

    @property
    def with_trials(self) -> bool:
        """Whether allemande may settle on the library's own way."""
        return self.environment.get(TRIALS, "on") == "on"

    @property
    def by_messages(self) -> bool:
        """Whether allemande is told to send MPI messages, as where UDP cannot go."""
        return self.environment.get(TRANSPORT) == "mpi"

    def runs(self, collective: str) -> bool:
        return self.algorithms is None or collective in self.algorithms

    def measuring(self, collective: str) -> Candidate:
        """With what the launcher needs for the algorithm; nonblocking calls are to be ours, too."""
        if not self.stock and collective.startswith("i"):
            return replace(self, environment={PROGRESS: "thread", **self.environment})
        if self.algorithms is None:
            return self
        value = self.algorithms[collective]
        if self.library == "openmpi":
            words = (*USE_RULES, "--mca", f"coll_tuned_{collective}_algorithm", value)
            return replace(self, arguments=(*words, *self.arguments))
        name = f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"
        return replace(self, environment={**self.environment, name: value})


TRIALS = "ALLEMANDE_TRIALS"
TRANSPORT = "ALLEMANDE_TRANSPORT"
CLUSTER = "ALLEMANDE_CLUSTER"
DECISIONS = "ALLEMANDE_DECISIONS"
PROGRESS = "ALLEMANDE_PROGRESS"
# What is measured is allemande's exchange, not whether it would be taken.
ALWAYS_OURS: Mapping[str, str] = {TRIALS: "off"}
# As a job script has it that names the library to preload and nothing else. Decisions of other runs
# stay out.
BY_ITSELF: Mapping[str, str] = {CLUSTER: "off", TRIALS: "on", DECISIONS: "off"}


def _of_openmpi(name: str) -> Mapping[str, str]:
    return {collective: str(number) for collective, number in OPENMPI_NUMBERS[name].items()}


CANDIDATES: tuple[Candidate, ...] = (
    Candidate("openmpi", "openmpi", True, "Open MPI, its own choice"),
    Candidate(
        "openmpi:linear",
        "openmpi",
        True,
        "Open MPI algorithm 1: everything posted at once",
        _of_openmpi("linear"),
    ),
    Candidate(
        "openmpi:pairwise",
        "openmpi",
        True,
        "Open MPI algorithm 2: one partner per round",
        _of_openmpi("pairwise"),
    ),
    Candidate(
        "openmpi:bruck",
        "openmpi",
        True,
        "Open MPI algorithm 3: logarithmic, for small blocks",
        _of_openmpi("bruck"),
        usual=False,
    ),
    Candidate(
        "openmpi:linear-sync",
        "openmpi",
        True,
        "Open MPI algorithm 4: a few posted at a time",
        _of_openmpi("linear-sync"),
    ),
    Candidate("mpich", "mpich", True, "MPICH over OFI tcp"),
    Candidate("mpich:ucx", "mpich", True, "MPICH over UCX tcp", netmod="ucx"),
    Candidate(
        "mpich:bruck",
        "mpich",
        True,
        "MPICH, brucks: logarithmic, for small blocks",
        MPICH_NAMES["bruck"],
        usual=False,
    ),
    Candidate(
        "mpich:scattered",
        "mpich",
        True,
        "MPICH, scattered: a few posted at a time",
        MPICH_NAMES["scattered"],
        usual=False,
    ),
    Candidate(
        "mpich:pairwise",
        "mpich",
        True,
        "MPICH, pairwise: one partner per round",
        MPICH_NAMES["pairwise"],
        usual=False,
    ),
    Candidate(
        "allemande+openmpi",
        "openmpi",
        False,
        "allemande preloaded into Open MPI",
        environment=ALWAYS_OURS,
    ),
    Candidate(
        "allemande+mpich",
        "mpich",
        False,
        "allemande preloaded into MPICH",
        environment=ALWAYS_OURS,
    ),
    Candidate(
        f"{OUR_PREFIX}openmpi:{ALONE}",
        "openmpi",
        False,
        "allemande preloaded into Open MPI, without a cluster file or an option",
        usual=False,
        environment=BY_ITSELF,
    ),
    Candidate(
        f"{OUR_PREFIX}mpich:{ALONE}",
        "mpich",
        False,
        "allemande preloaded into MPICH, without a cluster file or an option",
        usual=False,
        environment=BY_ITSELF,
    ),
)

NAMES = tuple(candidate.name for candidate in CANDIDATES)


def _valid_names() -> str:
    return ", ".join(NAMES)


def split_list(text: str) -> list[str]:
    """Splits at commas, leaving the options of a candidate together: `a:x=1,y=2,b` is a and b."""
    items: list[str] = []
    for item in (part.strip() for part in text.split(",")):
        is_option = "=" in item and ":" not in item.partition("=")[0]
        if is_option and items and ":" in items[-1]:
            items[-1] += f",{item}"
        else:
            items.append(item)
    return items


def _find_option(name: str, key: str) -> Option:
    """The configuration option called `key`, or the only one whose name starts with `key_`."""
    exact = [option for option in OPTIONS if option.key == key]
    found = exact or [option for option in OPTIONS if option.key.startswith(f"{key}_")]
    if len(found) == 1:
        return found[0]
    raise BadInput(
        f"candidate {name!r}: no option is called {key!r}; expected one of: "
        f"{', '.join(option.key for option in OPTIONS)}"
    )


def _parse_options(name: str, text: str) -> dict[str, str]:
    """`window_packets=7` becomes ALLEMANDE_WINDOW_PACKETS=7."""
    environment: dict[str, str] = {}
    for item in text.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise BadInput(f"candidate {name!r}: {item!r} is not valid; expected option=value")
        option = _find_option(name, key)
        where = f"candidate {name!r}: {option.key}"
        if option.variable in environment:
            raise BadInput(f"{where} is given twice; expected it once")
        _refuse_colons(where, value)
        environment[option.variable] = variable_text(option, check_value(option, where, value))
    return environment


def _refuse_colons(where: str, value: str) -> None:
    """Another option behind a colon, as other tools take them."""
    first, _, rest = value.partition(":")
    key = rest.partition("=")[0].strip()
    if "=" in rest and any(option.key.startswith(key) for option in OPTIONS):
        raise BadInput(
            f"{where}: {value!r} is not valid; the options of a candidate are joined by commas: "
            f"{first},{rest}"
        )


def _refuse_told(name: str, options: str) -> None:
    """Options beside the word for none."""
    if ALONE in options.replace(":", ",").split(","):
        raise BadInput(
            f"candidate {name!r}: what is measured {ALONE} takes no options; expected "
            f"cluster=off,trials=on,decisions=off in place of {ALONE}, and options behind it"
        )


def _parse_candidate(text: str) -> Candidate:
    for candidate in CANDIDATES:
        if text == candidate.name:
            return candidate
    base_name, colon, options = text.partition(":")
    for candidate in CANDIDATES:
        if colon and base_name == candidate.name and not candidate.stock:
            _refuse_told(text, options)
            return candidate.with_options(text, options)
    setting = parse_setting(text)
    if setting is not None:
        base = next(each for each in CANDIDATES if each.name == setting.base)
        return base.with_setting(text, setting)
    close = get_close_matches(text, NAMES, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise BadInput(
        f"unknown candidate {text!r}; {hint}expected some of: {_valid_names()} "
        f"(those that start with {OUR_PREFIX!r} take options: "
        "allemande+openmpi:name=value,name=value; stock ones tuning files: openmpi:rules=FILE, "
        "mpich:selection=FILE, and parameters: openmpi:linear-sync:reqs=4, "
        "mpich:scattered:throttle=4, mpich:bruck:k=4)"
    )


def every_candidate(collective: str = "alltoall") -> list[Candidate]:
    return [each.measuring(collective) for each in CANDIDATES if each.runs(collective)]


def parse_candidates(texts: Iterable[str], collective: str = "alltoall") -> list[Candidate]:
    """Candidates in the order given, each once; an empty list means the usual ones."""
    names = [item for text in texts for item in split_list(text)]
    if not names:
        return [candidate for candidate in every_candidate(collective) if candidate.usual]
    candidates = []
    for candidate in map(_parse_candidate, names):
        if not candidate.runs(collective):
            raise BadInput(
                f"candidate {candidate.name!r} is no algorithm of MPI_{collective.capitalize()}; "
                f"expected some of: {', '.join(c.name for c in every_candidate(collective))}"
            )
        candidates.append(candidate.measuring(collective))
    for index, candidate in enumerate(candidates):
        if any(candidate.name == other.name for other in candidates[:index]):
            raise BadInput(f"candidate {candidate.name!r} is given twice; expected each once")
    return candidates
