"""Errors a user sees as a message and an exit code, never as a traceback."""


class AllemandeError(Exception):
    """The message says what happened, to what, what was expected and what to do."""

    exit_code = 1


class BadInput(AllemandeError):
    """The user can fix it: a file, an option, a name."""

    exit_code = 2


class Failed(AllemandeError):
    """The input is valid, but the work did not succeed."""

    exit_code = 1
