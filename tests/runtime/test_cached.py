"""Cached properties are computed once, on frozen objects too, and tell what they are."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mcgta.runtime.cached import cached_property


@dataclass(frozen=True)
class Circle:
    radius: float
    calls: list[str]

    @cached_property
    def area(self) -> float:
        """The area."""
        self.calls.append("area")
        return 3.0 * self.radius**2


def test_a_cached_property_is_computed_once_for_each_object():
    calls: list[str] = []
    first, second = Circle(1.0, calls), Circle(2.0, calls)
    assert calls == []
    assert [first.area, second.area, first.area, second.area] == [3.0, 12.0, 3.0, 12.0]
    assert calls == ["area", "area"]


def test_a_cached_property_that_fails_is_computed_again():
    class Fails:
        @cached_property
        def value(self) -> int:
            raise ZeroDivisionError

    thing = Fails()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            _ = thing.value


def test_a_cached_property_of_the_class_has_the_docstring():
    assert Circle.area.__doc__ == "The area."
