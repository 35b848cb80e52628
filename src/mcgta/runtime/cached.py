"""Attributes that are computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801  (named and used as the standard library's)
    """A property that is computed once and then kept on the object, without a lock.

    Before Python 3.12 that of the standard library holds a lock of its class while it computes. A child forked meanwhile
    waits for it for ever, and threads that compute for different objects wait for each other. Here two threads that ask at
    once may compute the same value twice.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> cached_property[Value] | Value:
        if instance is None:
            return self
        value = self._function(instance)
        instance.__dict__[self._name] = value  # found before this property from now on
        return value
