"""Parameters of the estimator, handed on by functions that take a container."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from mcgta.estimator import MCGTA
from mcgta.runtime.rules import suggest


def make_model(parameters: Mapping[str, Any], function: Callable[..., Any]) -> MCGTA:
    """Return the estimator with some parameters; names that neither it nor the function has are refused."""
    known = set(inspect.signature(MCGTA).parameters)
    own = [name for name, one in inspect.signature(function).parameters.items() if one.kind is not one.VAR_KEYWORD]
    for name in parameters:
        if name not in known:
            raise TypeError(
                f"{function.__name__} has no parameter {name!r}, nor has MCGTA{suggest(name, (*own, *sorted(known)))}"
            )
    return MCGTA(**parameters)
