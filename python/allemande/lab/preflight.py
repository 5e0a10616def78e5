"""What a lab needs of the machine, checked before anything is made; every message names the fix."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from allemande.errors import Failed

# tool -> Debian package
TOOLS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "bridge": "iproute2",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "env": "coreutils",
}


def missing_tools() -> dict[str, str]:
    return {tool: package for tool, package in TOOLS.items() if shutil.which(tool) is None}


def check() -> None:
    if sys.platform != "linux":
        raise Failed(f"the lab is made of Linux network namespaces; this is {sys.platform}")
    missing = missing_tools()
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise Failed(
            f"the lab needs {', '.join(missing)}, not found in PATH; "
            f"install with: apt-get install {packages} (as root), and have /usr/sbin in PATH"
        )


def _setting(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return None


def no_namespaces(reason: str) -> str:
    """Why the kernel refused, as far as it can be told, and what to do."""
    if os.geteuid() == 0:
        return (
            f"root may not make namespaces here ({reason}); in a container start it with "
            "CAP_SYS_ADMIN and CAP_NET_ADMIN (docker run --privileged), or run the lab outside"
        )
    fixes = {
        "kernel/unprivileged_userns_clone": ("0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        "kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        "user/max_user_namespaces": ("0", "sysctl -w user.max_user_namespaces=10000"),
    }
    for name, (forbidding, fix) in fixes.items():
        if _setting(name) == forbidding:
            return (
                f"this machine does not let users make namespaces ({reason}); "
                f"run the lab as root, or allow it, as root: {fix}"
            )
    return (
        f"this machine does not let you make namespaces ({reason}); run the lab as root, or "
        "outside the container or sandbox that forbids it"
    )
