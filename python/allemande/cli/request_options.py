"""Options of a command that are the fields of a request."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from inspect import Parameter
from typing import Any


def with_request(
    request: type[Any], options: Mapping[str, Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The decorated function is given a `request`; its own options come after those of `options`.

    `request` is a dataclass with a default for each field. `options`: by field, in the order of
    --help, what typer is to know of it; the other fields keep their defaults.
    """
    defaults = {field.name: field.default for field in fields(request)}
    assert options.keys() <= defaults.keys()

    def decorate(body: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(body, eval_str=True).parameters.values())[1:]
        taken = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation)
            for name, annotation in options.items()
        ]

        @wraps(body)
        def command(**given: Any) -> None:
            asked = request(**{name: given.pop(name) for name in options})
            body(asked, **given)

        every = [*taken, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own)]
        # typer reads both.
        command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in every}
        return command

    return decorate
