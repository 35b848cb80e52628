"""Saved objects: one file of arrays plus JSON, without pickle.

Format
------
A zip file, uncompressed: ``archive.json`` and ``arrays/0.npy``, ``arrays/1.npy``, ... The JSON holds the format's
name and version and one tree, in which ``{"$array": k}`` points to an array and ``{"$object": name, "state": ...}`` to
an object of a class that registered itself. Whatever grows with the observations is an array, also a map of rows to
reasons (``{"$texts": ...}``), so that the JSON stays small.

Reading runs no code from the file: classes are looked up in the registry and arrays of Python objects are refused. A
small file cannot take much memory: compressed or overlapping members, a long JSON and a long directory are refused.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tokenize
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any, ClassVar, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from mcgta.runtime.replacing import replacing, special_kind

FORMAT = "mcgta-archive"
VERSION = 1
MAX_TREE_BYTES = 4 * 2**20
"""Length of the JSON. Python takes up to 45 times as much to hold it; that of a fit has about 10 kB."""

_MAX_DIRECTORY_BYTES = 2**18
_TREE = "archive.json"
_KINDS = "biufUSMm"


class ArchiveError(ValueError):
    """The file is not an archive that this version of mcgta can read."""


class Archived:
    """Mixin: instances can be saved with :meth:`save` and read back with :func:`mcgta.load`.

    Dataclasses are stored by their fields; a field with ``metadata={"archive": False}`` must be None to be saved.
    Other classes give ``_archive_state`` and ``_from_archive_state``. A subclass must check the state that it is given,
    since it may come from a file of unknown origin.
    """

    _registry: ClassVar[dict[str, type[Archived]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Archived._registry[cls.__name__] = cls

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this object to one file; see :func:`save`."""
        save(self, path)

    def _archive_state(self) -> dict[str, Any]:
        state = {}
        for item in dataclasses.fields(self):  # type: ignore[arg-type]  # a class that is none overrides this
            value = getattr(self, item.name)
            if item.metadata.get("archive", True):
                state[item.name] = value
            elif value is not None:
                raise ValueError(f"{type(self).__name__}.{item.name}={value!r} cannot be saved in a file")
        return state

    @classmethod
    def _from_archive_state(cls, state: dict[str, Any]) -> Self:
        _check_fields(cls, state)
        return cls(**state)


def save(thing: Archived, path: str | os.PathLike[str]) -> None:
    """Write ``thing`` to ``path``; an existing file is replaced only once the new one is complete.

    Raises
    ------
    ValueError
        where a part of it cannot be saved, or ``path`` is a device, a pipe, a socket or a folder
    """
    arrays: list[NDArray[Any]] = []
    tree = {"format": FORMAT, "version": VERSION, "content": _encode(thing, arrays)}
    text = json.dumps(tree, allow_nan=False)
    if len(text) > MAX_TREE_BYTES:  # of ASCII
        raise ValueError(
            f"{type(thing).__name__} has {len(text)} bytes apart from its arrays, and {MAX_TREE_BYTES} can be saved; "
            "use arrays in place of long lists"
        )
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as bundle:
        # Members have no time of their own, so that equal objects make equal files.
        bundle.writestr(zipfile.ZipInfo(_TREE), text)
        for k, array in enumerate(arrays):
            with bundle.open(zipfile.ZipInfo(f"arrays/{k}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, array, version=(1, 0), allow_pickle=False)


def read_archive(path: str | os.PathLike[str]) -> Any:
    """Return the object that :meth:`save` wrote, of a class whose module is imported; :func:`mcgta.load` knows all of them.

    Raises
    ------
    ArchiveError
        where the file is not an archive, is damaged, or was written by a newer version
    """
    with open(path, "rb", opener=_open_at_once) as file:
        state = os.fstat(file.fileno())
        kind = special_kind(state.st_mode)
        if kind is not None:
            raise ArchiveError(f"{path}: is {kind}, not a file that mcgta wrote")
        try:
            return _load(file, state.st_size)
        except ArchiveError as error:
            raise ArchiveError(f"{path}: {error}") from None
        except (zipfile.BadZipFile, json.JSONDecodeError, tokenize.TokenError, EOFError, OSError) as error:
            raise ArchiveError(f"{path}: damaged, or not a file that mcgta wrote ({error})") from error
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ArchiveError(
                f"{path}: its content does not fit together ({type(error).__name__}: {error})"
            ) from error
        except (RuntimeError, MemoryError, SyntaxError) as error:
            raise ArchiveError(f"{path}: cannot be read ({type(error).__name__}: {error})") from error


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for the other end, where the path is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class _CappedFile:
    """A file that refuses long reads until ``cap`` is lifted: zipfile reads a directory of any length at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self.cap: int | None = _MAX_DIRECTORY_BYTES
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if self.cap is None:
            return self._file.read(size)
        data = self._file.read(self.cap + 1 if size < 0 else min(size, self.cap + 1))
        if len(data) > self.cap:
            raise ArchiveError(f"the file has a directory of more than {self.cap} bytes")
        return data


def _load(file: IO[bytes], size: int) -> Any:
    capped = _CappedFile(file)
    with zipfile.ZipFile(capped) as bundle:
        capped.cap = None
        _check_members(bundle, size)
        tree = json.loads(bundle.read(_TREE))
        if not isinstance(tree, dict) or tree.get("format") != FORMAT:
            raise ArchiveError("this is not a file that mcgta wrote")
        version = tree.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise ArchiveError(f"{version!r} is not a format version")
        if version > VERSION:
            raise ArchiveError(f"format version {version} is newer than this mcgta reads ({VERSION}); upgrade mcgta")
        thing = _decode(tree.get("content"), _Arrays(bundle))
        if not isinstance(thing, Archived):
            raise ArchiveError("the file holds no object of mcgta's")
        return thing


def _check_members(bundle: zipfile.ZipFile, size: int) -> None:
    names = [info.filename for info in bundle.infolist()]
    if len(set(names)) != len(names) or _TREE not in names:
        raise ArchiveError("this is not a file that mcgta wrote")
    if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1 for info in bundle.infolist()):
        raise ArchiveError("the file has compressed or encrypted members; mcgta writes plain ones only")
    if sum(info.file_size for info in bundle.infolist()) > size:
        raise ArchiveError("the file claims to hold more than its size")
    if bundle.getinfo(_TREE).file_size > MAX_TREE_BYTES:
        raise ArchiveError(
            f"{_TREE} has {bundle.getinfo(_TREE).file_size} bytes, and mcgta writes {MAX_TREE_BYTES} at most"
        )


def _encode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"$float": repr(number)}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Archived):
        state = {name: _encode(item, arrays) for name, item in value._archive_state().items()}
        return {"$object": type(value).__name__, "state": state}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _KINDS:
            raise ValueError(f"an array of {value.dtype} cannot be saved without pickle")
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    if isinstance(value, tuple):
        return {"$tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, Mapping) and value and all(_is_row_text(*entry) for entry in value.items()):
        return {"$texts": [_encode(array, arrays) for array in _texts_to_arrays(value)]}
    if isinstance(value, Mapping):
        return {"$map": [[_encode(k, arrays), _encode(v, arrays)] for k, v in value.items()]}
    raise ValueError(f"{value!r} of type {type(value).__name__} cannot be saved in a file")


def _decode(node: Any, arrays: _Arrays) -> Any:
    if node is None or isinstance(node, (bool, int, float, str)):
        return node
    if isinstance(node, list):
        return [_decode(item, arrays) for item in node]
    if "$float" in node:
        if node["$float"] not in ("nan", "inf", "-inf"):
            raise ArchiveError(f"{node['$float']!r} is not a special number")
        return float(node["$float"])
    if "$tuple" in node:
        return tuple(_decode(item, arrays) for item in node["$tuple"])
    if "$map" in node:
        return {_decode(key, arrays): _decode(value, arrays) for key, value in node["$map"]}
    if "$texts" in node:
        return _texts_from_arrays(*(_decode(item, arrays) for item in node["$texts"]))
    if "$array" in node:
        return arrays.read(node["$array"])
    if "$object" in node:
        kind = Archived._registry.get(node["$object"])
        if kind is None:
            raise ArchiveError(f"the file holds a {node['$object']!r}, which this mcgta does not know")
        return kind._from_archive_state({str(k): _decode(v, arrays) for k, v in node["state"].items()})
    raise ArchiveError(f"cannot read a node with keys {sorted(node)[:5]}")


def _is_row_text(key: Any, value: Any) -> bool:
    return isinstance(key, int) and not isinstance(key, bool) and 0 <= key < 2**63 and isinstance(value, str)


def _texts_to_arrays(texts: Mapping[int, str]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the rows of a map of rows to texts, the number of each one's text, and the different texts."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts.values()))}
    rows = np.array(list(texts), dtype=np.int64)
    return rows, np.array([numbers[text] for text in texts.values()], dtype=np.int64), np.array(list(numbers))


def _texts_from_arrays(rows: NDArray[Any], numbers: NDArray[Any], different: NDArray[Any]) -> dict[int, str]:
    whole = rows.dtype == numbers.dtype == np.int64 and different.dtype.kind == "U"
    if not whole or rows.shape != numbers.shape or rows.ndim != 1 or different.ndim != 1:
        raise ArchiveError("a map of rows to texts has arrays that do not fit together")
    if not 0 <= numbers.min(initial=0) <= numbers.max(initial=0) < different.size:
        raise ArchiveError("a map of rows to texts names a text that is not there")
    texts = different.tolist()
    return {row: texts[number] for row, number in zip(rows.tolist(), numbers.tolist(), strict=True)}


class _Arrays:
    """The arrays of a file, each to be read once: a second reference to one would multiply its memory."""

    def __init__(self, bundle: zipfile.ZipFile) -> None:
        self._bundle = bundle
        self._seen: set[int] = set()

    def read(self, number: Any) -> NDArray[Any]:
        if not isinstance(number, int) or number in self._seen:
            raise ArchiveError(f"array {number!r} is named twice, or is no array")
        self._seen.add(number)
        info = self._bundle.getinfo(f"arrays/{number}.npy")
        with self._bundle.open(info) as member:
            if npy.read_magic(member) != (1, 0):
                raise ArchiveError(f"array {number} has an unknown version")
            shape, fortran, dtype = npy.read_array_header_1_0(member)
            if dtype.kind not in _KINDS or dtype.hasobject:
                raise ArchiveError(f"array {number} holds {dtype}, which is refused")
            if any(extent < 0 for extent in shape):
                raise ArchiveError(f"array {number} has shape {shape}")
            count = math.prod(shape)
            if count * dtype.itemsize > info.file_size:
                raise ArchiveError(f"array {number} claims {count} items, more than the file holds")
            data = bytearray(member.read())
            if len(data) != count * dtype.itemsize:
                raise ArchiveError(f"array {number} is cut short")
        return np.frombuffer(data, dtype=dtype, count=count).reshape(shape, order="F" if fortran else "C")


_FIELD_KINDS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "int | None": lambda value: value is None or (isinstance(value, int) and not isinstance(value, bool)),
    "float": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "float | None": lambda value: value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)),
    "Array": lambda value: isinstance(value, np.ndarray) and value.dtype == np.float64,
    "Array | None": lambda value: value is None or (isinstance(value, np.ndarray) and value.dtype == np.float64),
    "Index": lambda value: isinstance(value, np.ndarray) and value.dtype == np.int64,
    "Index | None": lambda value: value is None or (isinstance(value, np.ndarray) and value.dtype == np.int64),
    "Labels": lambda value: isinstance(value, np.ndarray) and value.dtype == np.int64,
    "dict[str, Any]": lambda value: isinstance(value, dict) and all(isinstance(k, str) for k in value),
    "tuple[MotionView, ...]": lambda value: (
        isinstance(value, tuple) and all(type(item).__name__ == "MotionView" for item in value)
    ),
    "tuple[str, ...]": lambda value: isinstance(value, tuple) and all(isinstance(item, str) for item in value),
    "list[str]": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "dict[str, str]": lambda value: _is_map_of(value, str),
    "dict[str, int]": lambda value: _is_map_of(value, int),
    "dict[str, float]": lambda value: _is_map_of(value, float),
    "dict[str, list[str]]": lambda value: (
        _is_map_of(value, list) and all(isinstance(item, str) for items in value.values() for item in items)
    ),
    "NDArray[Any]": lambda value: isinstance(value, np.ndarray),
    "Metric": lambda value: isinstance(value, Archived),
    "Positions": lambda value: type(value).__name__ == "Positions",
    "LocalModels": lambda value: type(value).__name__ == "LocalModels",
    "MixturePrior | None": lambda value: value is None or type(value).__name__ == "MixturePrior",
    "dict[int, str]": lambda value: (
        isinstance(value, dict) and all(isinstance(k, int) and isinstance(v, str) for k, v in value.items())
    ),
}
"""The values that a field of a value object may have, by its annotation."""


def _is_map_of(value: Any, kind: type) -> bool:
    """Whether this is a map of texts to values of a type; flags are no numbers."""
    if not isinstance(value, dict):
        return False
    return all(
        isinstance(key, str) and isinstance(item, kind) and not isinstance(item, bool) for key, item in value.items()
    )


def _check_fields(kind: type, state: Mapping[str, Any]) -> None:
    for item in dataclasses.fields(kind):
        if (
            item.metadata.get("archive", True)
            and item.name in state
            and not _FIELD_KINDS[str(item.type)](state[item.name])
        ):
            raise ValueError(f"{kind.__name__}.{item.name} is not of type {item.type}")
