"""Machine files that say at which site hosts are: as MagPIe's, with keywords.

    # site rennes
    h[0-29]
    # site nancy
    h30 slots=2
    h[31-59]

A line `# site NAME`, or without the `#`, is about the hosts after it. With the `#` the file is also
one for a launcher. The first word of any other line names hosts; `:2` behind it and further words
are the launcher's.
"""

from __future__ import annotations

import re
from pathlib import Path

from allemande.errors import BadInput
from allemande.text_files import read_text, shown
from allemande.topology import compress_hostlist, expand_hostlist

_SITE = re.compile(r"#?\s*site\b:?\s*(.*)")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")
_EXAMPLE = "expected lines `# site NAME`, each with the names of its hosts after it"


def read_sites(text: str, source: str) -> dict[str, list[str]]:
    """The hosts of each site, in the order of the file.

    Raises BadInput, with the line, for a host before the first site, a host named twice, a site
    without hosts or named twice, and what is no name; and for fewer than two sites.
    """
    found: dict[str, list[str]] = {}
    begun: dict[str, int] = {}
    of_host: dict[str, str] = {}
    site = None
    for number, whole in enumerate(text.split("\n"), 1):
        line, where = whole.strip(), f"{source}:{number}"
        if keyword := _SITE.fullmatch(line):
            site = keyword[1].strip()
            if not _NAME.fullmatch(site):
                raise BadInput(f"{where}: {site!r} is no name of a site; {_EXAMPLE}")
            if site in found:
                raise BadInput(f"{where}: site {site!r} begins twice; first in line {begun[site]}")
            found[site], begun[site] = [], number
            continue
        words = line.partition("#")[0].split()
        if not words:
            continue
        if site is None:
            raise BadInput(f"{where}: {words[0]!r} is at no site; {_EXAMPLE}")
        try:
            hosts = expand_hostlist(words[0].partition(":")[0])
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from error
        for host in hosts:
            if host in of_host:
                raise BadInput(
                    f"{where}: host {host!r} is at {of_host[host]!r} and at {site!r}; "
                    "expected each host once"
                )
            of_host[host] = site
            found[site].append(host)
    for name, hosts in found.items():
        if not hosts:
            raise BadInput(f"{source}:{begun[name]}: site {name!r} has no hosts; {_EXAMPLE}")
    if len(found) < 2:
        raise BadInput(f"{source}: {len(found)} sites; expected two or more; {_EXAMPLE}")
    return found


def sites_option(path: Path) -> str:
    """The file as the option `sites` has it."""
    found = read_sites(read_text(path, "a machine file with sites"), shown(path))
    return "/".join(f"{name}={compress_hostlist(hosts)}" for name, hosts in found.items())
