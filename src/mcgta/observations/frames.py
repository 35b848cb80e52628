"""Results as a frame of the library that the features came in, with their index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CallerFrame:
    """What is known of the frame that features came in.

    Attributes
    ----------
    library : as narwhals calls it; None for arrays, whose results are frames of pandas
    index : of a pandas frame; None where rows have numbers only
    """

    library: Any = None
    index: Any = None

    @classmethod
    def of(cls, X: Any) -> CallerFrame:
        """Take note of the library and the index of features."""
        frame = nw.from_native(X, pass_through=True, eager_only=False)
        if not isinstance(frame, nw.DataFrame):
            return cls()
        return cls(frame.implementation, X.index if hasattr(X, "iloc") else None)

    def followed_by(self, other: CallerFrame) -> CallerFrame:
        """Return the same for the rows of both; without an index unless both have one."""
        if self.index is None or other.index is None:
            return CallerFrame(self.library)
        return CallerFrame(self.library, self.index.append(other.index))

    def make(self, columns: dict[str, NDArray[Any]]) -> Any:
        """Return a frame of these columns, one row for each of the caller's."""
        if self.library is None:
            return _import_pandas().DataFrame(columns)
        frame = nw.from_dict(columns, backend=self.library).to_native()
        if self.index is not None:
            frame.index = self.index
        return frame


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "to_frame makes a frame of pandas where features were arrays, and pandas is missing: pip install 'mcgta[frames]'"
        ) from error
    return pandas
