"""Control variables of the MPI library, through its tool interface (MPI_T), in the running job.

mpi4py does not offer MPI_T, so that its C functions are called as they are. The library is the one
mpi4py has loaded.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from allemande.errors import Failed

THREAD_SINGLE = 0
NAME_BYTES = 256
DESCRIPTION_BYTES = 8192
BUFFER_BYTES = 64


def _library_path() -> str:
    """The path of the libmpi that this process has mapped."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        found = re.search(r"(/\S*/libmpi(?:ch)?\.so\S*)$", line)
        if found:
            return found.group(1)
    raise Failed("this process has loaded no libmpi.so; mpi4py links to none that is known")


class ControlVariables:
    """Integers that the library may be told while it runs. Raises Failed for what it refuses."""

    def __init__(self) -> None:
        self._mpi = ctypes.CDLL(_library_path(), mode=ctypes.RTLD_GLOBAL)
        provided = ctypes.c_int()
        self._check(
            self._mpi.MPI_T_init_thread(THREAD_SINGLE, ctypes.byref(provided)), "MPI_T_init_thread"
        )
        self._handles: dict[str, ctypes.c_void_p] = {}

    @staticmethod
    def _check(code: int, what: str) -> None:
        if code != 0:
            raise Failed(f"{what} fails with code {code}; the library's algorithms are not timed")

    def knows(self, name: str) -> bool:
        """Whether there is a variable of this name."""
        index = ctypes.c_int()
        return bool(self._mpi.MPI_T_cvar_get_index(name.encode(), ctypes.byref(index)) == 0)

    def _handle(self, name: str) -> ctypes.c_void_p:
        if name not in self._handles:
            index, count = ctypes.c_int(), ctypes.c_int()
            handle = ctypes.c_void_p()
            code = self._mpi.MPI_T_cvar_get_index(name.encode(), ctypes.byref(index))
            self._check(code, f"MPI_T_cvar_get_index({name})")
            code = self._mpi.MPI_T_cvar_handle_alloc(
                index, None, ctypes.byref(handle), ctypes.byref(count)
            )
            self._check(code, f"MPI_T_cvar_handle_alloc({name})")
            self._handles[name] = handle
        return self._handles[name]

    def names_of(self, name: str) -> dict[str, int]:
        """The values of a variable by their names, as its description lists them, from 0 on.

        MPICH's are like that: `auto - ...` on a line, `brucks - ...` on the next.
        """
        index, name_len = ctypes.c_int(), ctypes.c_int(NAME_BYTES)
        desc_len = ctypes.c_int(DESCRIPTION_BYTES)
        verbosity, binding, scope = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        kind, choices = ctypes.c_void_p(), ctypes.c_void_p()
        text = ctypes.create_string_buffer(NAME_BYTES)
        description = ctypes.create_string_buffer(DESCRIPTION_BYTES)
        self._mpi.MPI_T_cvar_get_index(name.encode(), ctypes.byref(index))
        code = self._mpi.MPI_T_cvar_get_info(
            index,
            text,
            ctypes.byref(name_len),
            ctypes.byref(verbosity),
            ctypes.byref(kind),
            ctypes.byref(choices),
            description,
            ctypes.byref(desc_len),
            ctypes.byref(binding),
            ctypes.byref(scope),
        )
        self._check(code, f"MPI_T_cvar_get_info({name})")
        lines = description.value.decode().splitlines()
        names = [found.group(1) for line in lines if (found := re.match(r"(\w+)\s+- ", line))]
        return {name: number for number, name in enumerate(names)}

    def read(self, name: str) -> int:
        """The value now."""
        buffer = ctypes.create_string_buffer(BUFFER_BYTES)
        code = self._mpi.MPI_T_cvar_read(self._handle(name), buffer)
        self._check(code, f"MPI_T_cvar_read({name})")
        return int(ctypes.c_int.from_buffer(buffer).value)

    def write(self, name: str, value: int) -> None:
        """Sets it on this rank."""
        buffer = ctypes.create_string_buffer(BUFFER_BYTES)
        ctypes.c_int.from_buffer(buffer).value = value
        code = self._mpi.MPI_T_cvar_write(self._handle(name), buffer)
        self._check(code, f"MPI_T_cvar_write({name}, {value})")
