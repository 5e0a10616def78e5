"""What a lab needs of the machine, checked before anything is made; every message names the fix."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from allemande.errors import BadInput, Failed

# tool -> Debian package
TOOLS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "bridge": "iproute2",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "env": "coreutils",
}

EMULATOR = Path(__file__).parents[1] / "lib" / "allemande-emulate"

DEFAULT_CONGESTION_CONTROL = "cubic"
FALLBACK_CONGESTION_CONTROL = "reno"  # never missing, never restricted


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


def emulator_program() -> Path:
    if not EMULATOR.exists():
        raise Failed(f"the lab needs {EMULATOR}, which `make build` makes and wheels contain")
    return EMULATOR


def congestion_control(wanted: str) -> tuple[str, list[str]]:
    """What connections will use, and a note where that is not what was asked for."""
    available = (read_setting("net/ipv4/tcp_available_congestion_control") or "").split()
    if wanted in available:
        return wanted, []
    known = " ".join(available)
    if wanted != DEFAULT_CONGESTION_CONTROL:
        raise BadInput(
            f"congestion control {wanted!r} is not available; expected one of: {known} "
            f"(others, as root: modprobe tcp_{wanted})"
        )
    return FALLBACK_CONGESTION_CONTROL, [
        f"{wanted} is not available here ({known}): TCP uses {FALLBACK_CONGESTION_CONTROL}; "
        f"as root, modprobe tcp_{wanted} makes it available"
    ]


def read_setting(name: str) -> str | None:
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
        if read_setting(name) == forbidding:
            return (
                f"this machine does not let users make namespaces ({reason}); "
                f"run the lab as root, or allow it, as root: {fix}"
            )
    return (
        f"this machine does not let you make namespaces ({reason}); run the lab as root, or "
        "outside the container or sandbox that forbids it"
    )
