#!/usr/bin/env python3
"""g++ without optimisation, which takes what has been compiled before from a cache or a build.

What is tested is that the sources build, not how fast the result is. A cached object stands for the
same preprocessed text and the same options, to the letter.

QUICK_COMPILER_CACHE names the folder of the cache. QUICK_COMPILER_NAMES lists FOLDER=NAME, with
colons between: what __FILE__ calls the folder, so that copies of the same sources have one name.
QUICK_COMPILER_BUILT may name the folder of a build, whose optimised objects are as good: they are
taken where they are newer than all that they are made of.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

COMPILER = "g++"
QUICK = ["-O0", "-g0"]
# Options whose effect is in the preprocessed text, or that are about other files.
WITH_VALUE = {"-o", "-MF", "-MT", "-MQ", "-include", "-I", "-isystem", "-D", "-U"}
IGNORED = ("-I", "-D", "-U", "-M", "-W", "-O", "-g", "-fmacro-prefix-map=")
CACHE_BYTES_MAX = 1 << 30  # a precompiled header takes some 60 MB


def options_that_matter(words: list[str]) -> list[str]:
    """Without sources, folders and what -O0 -g0 overrides."""
    found = []
    rest = iter(words)
    for word in rest:
        if word in WITH_VALUE:
            next(rest, None)
        elif word == "-x":
            found += [word, next(rest, "")]
        elif word.startswith("-") and not word.startswith(IGNORED):
            found.append(word)
    return found


def preprocess(words: list[str], target: str, folder: str | None = None) -> bytes | None:
    """The text without marks of files and lines; writes the list of dependencies as well.
    `folder`: where the words hold, if not here."""
    found = [word for word in words if word != "-c"]
    at = found.index("-o")
    del found[at : at + 2]
    if "-MT" not in found and "-MD" in found:
        found += ["-MT", target]
    command = [COMPILER, *found, "-E", "-P"]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=folder, check=False)
    return done.stdout if done.returncode == 0 else None


def version() -> bytes:
    """As the file itself says: a new one is another file."""
    path = Path("/usr/bin", COMPILER).resolve()
    status = path.stat()
    return f"{path} {status.st_size} {status.st_mtime_ns}".encode()


def key_of(words: list[str], text: bytes) -> str:
    parts = [version(), *(option.encode() for option in options_that_matter(words)), text]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def dependencies(words: list[str]) -> list[Path]:
    """As the preprocessor has written them; none where it was not asked."""
    if "-MF" not in words:
        return []
    text = Path(words[words.index("-MF") + 1]).read_text()
    return [Path(name) for name in text.replace("\\\n", " ").partition(":")[2].split()]


def built(words: list[str], names: list[str], key: str, target: Path) -> Path | None:
    """The object of that build for the same target, if it is what these words would make."""
    sources = dependencies(words)
    if "QUICK_COMPILER_BUILT" not in os.environ or not sources:
        return None
    commands = Path(os.environ["QUICK_COMPILER_BUILT"], "compile_commands.json")
    for entry in json.loads(commands.read_text()) if commands.exists() else ():
        if f" -o {target} " not in entry["command"]:
            continue
        # Headers may say something else with optimisation: both are asked without.
        theirs = [*shlex.split(entry["command"])[1:], *QUICK, *names]
        text = preprocess(theirs, str(target), entry["directory"])
        known = Path(entry["directory"], target)
        if text is None or key_of(theirs, text) != key or not known.exists():
            continue
        # What the builds have written themselves is equal, as the whole text is.
        read = [path for path in sources if not path.absolute().is_relative_to(Path.cwd())]
        if all(path.stat().st_mtime <= known.stat().st_mtime for path in read):
            return known
    return None


def forget_the_oldest(cache: Path) -> None:
    """What was not used for longest goes when the cache has grown too large."""
    entries = [(path.stat(), path) for path in cache.iterdir() if not path.name.startswith(".")]
    kept = 0
    for status, path in sorted(entries, key=lambda entry: -entry[0].st_mtime):
        kept += status.st_size
        if kept > CACHE_BYTES_MAX:
            path.unlink(missing_ok=True)


def keep(made: Path, known: Path) -> None:
    # Several compilers at once each write a file of their own; the rename decides.
    fresh = known.with_name(f".{known.name}.{os.getpid()}")
    fresh.write_bytes(made.read_bytes())
    fresh.rename(known)
    forget_the_oldest(known.parent)


def main() -> int:
    folders = os.environ["QUICK_COMPILER_NAMES"].split(":")
    names = [f"-fmacro-prefix-map={folder}" for folder in folders]
    words = [*sys.argv[1:], *QUICK, *names]
    if "-c" not in words or "-o" not in words:
        os.execvp(COMPILER, [COMPILER, *words])
    target = Path(words[words.index("-o") + 1])
    cache = Path(os.environ["QUICK_COMPILER_CACHE"])
    cache.mkdir(parents=True, exist_ok=True)
    text = preprocess(words, str(target))
    if text is None:
        return 1
    key = key_of(words, text)
    known = cache / key
    if not known.exists() and (found := built(words, names, key, target)):
        keep(found, known)
    if known.exists():
        target.write_bytes(known.read_bytes())
        known.touch()
        return 0
    code = subprocess.run([COMPILER, *words], check=False).returncode
    if code == 0:
        keep(target, known)
    return code


if __name__ == "__main__":
    sys.exit(main())
