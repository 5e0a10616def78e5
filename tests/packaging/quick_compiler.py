#!/usr/bin/env python3
"""g++ without optimisation, which takes from a cache what it has compiled before.

What is tested is that the sources build, not how fast the result is. A cached object stands for the
same preprocessed text and the same options, to the letter.

QUICK_COMPILER_CACHE names the folder of the cache. QUICK_COMPILER_NAMES lists FOLDER=NAME, with
colons between: what __FILE__ calls the folder, so that copies of the same sources have one name.
"""

from __future__ import annotations

import hashlib
import os
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


def preprocess(words: list[str], target: str) -> bytes | None:
    """The text without marks of files and lines; writes the list of dependencies as well."""
    found = [word for word in words if word != "-c"]
    at = found.index("-o")
    del found[at : at + 2]
    if "-MT" not in found and "-MD" in found:
        found += ["-MT", target]
    done = subprocess.run([COMPILER, *found, "-E", "-P"], stdout=subprocess.PIPE, check=False)
    return done.stdout if done.returncode == 0 else None


def version() -> bytes:
    """As the file itself says: a new one is another file."""
    path = Path("/usr/bin", COMPILER).resolve()
    status = path.stat()
    return f"{path} {status.st_size} {status.st_mtime_ns}".encode()


def forget_the_oldest(cache: Path) -> None:
    """What was not used for longest goes when the cache has grown too large."""
    entries = [(path.stat(), path) for path in cache.iterdir() if not path.name.startswith(".")]
    kept = 0
    for status, path in sorted(entries, key=lambda entry: -entry[0].st_mtime):
        kept += status.st_size
        if kept > CACHE_BYTES_MAX:
            path.unlink(missing_ok=True)


def main() -> int:
    words = [*sys.argv[1:], *QUICK]
    names = os.environ["QUICK_COMPILER_NAMES"].split(":")
    words += [f"-fmacro-prefix-map={name}" for name in names]
    if "-c" not in words or "-o" not in words:
        os.execvp(COMPILER, [COMPILER, *words])
    target = Path(words[words.index("-o") + 1])
    cache = Path(os.environ["QUICK_COMPILER_CACHE"])
    cache.mkdir(parents=True, exist_ok=True)
    text = preprocess(words, str(target))
    if text is None:
        return 1
    parts = [version(), *(option.encode() for option in options_that_matter(words)), text]
    known = cache / hashlib.sha256(b"\0".join(parts)).hexdigest()
    if known.exists():
        target.write_bytes(known.read_bytes())
        known.touch()
        return 0
    code = subprocess.run([COMPILER, *words], check=False).returncode
    if code == 0:
        # Several compilers at once each write a file of their own; the rename decides.
        fresh = cache / f".{known.name}.{os.getpid()}"
        fresh.write_bytes(target.read_bytes())
        fresh.rename(known)
        forget_the_oldest(cache)
    return code


if __name__ == "__main__":
    sys.exit(main())
