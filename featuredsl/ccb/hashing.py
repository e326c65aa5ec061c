"""Feature hashing and interaction indices, as Vowpal Wabbit 9 computes them (`--hash strings|all`).

Indices are 32-bit: at most 31 bits are used (`-b`), and the low bits of a product or an exclusive or depend on low
bits only, so that wrapping at 32 instead of 64 bits changes nothing. Sources: MurmurHash3 x86 32 (public domain,
A. Appleby); interaction hashing FNV-1 as in Vowpal Wabbit's wiki page "Feature interactions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, groupby
from typing import TypeAlias

import mmh3
import numpy as np
from numpy.typing import NDArray

from featuredsl.ccb.preprocess import Token

Hashes: TypeAlias = NDArray[np.uint32]
Values: TypeAlias = NDArray[np.float32]
Block: TypeAlias = tuple[Hashes, Values]
"""Indices and values of shape [features, candidates], or [features, 1] where all candidates share them."""

CONSTANT = 11650396
_FNV = np.uint32(16777619)
_MASK32 = (1 << 32) - 1
_BLANKS = bytes(range(0x21))
MAX_BITS = 31


@dataclass(frozen=True, slots=True)
class HashOptions:
    """What `-b`, `--hash` and `--hash_seed` say."""

    bits: int = 18
    all_strings: bool = False
    seed: int = 0

    @property
    def mask(self) -> int:
        """The bits of an index that are kept."""
        return (1 << self.bits) - 1


def hash_text(text: str, seed: int, options: HashOptions) -> int:
    """Hash of a feature or namespace name: digits alone are a number unless `--hash all`, else MurmurHash3."""
    raw = text.encode()
    if not options.all_strings:
        raw = raw.strip(_BLANKS)
        if raw.isdigit():
            return (int(raw) + seed) & _MASK32
    return mmh3.hash(raw, seed, signed=False)


@cache
def namespace_seed(namespace: str, options: HashOptions) -> int:
    """Seed of the feature hashes of a named namespace."""
    return hash_text(namespace, options.seed, options)


@cache
def slot_index(position: int, options: HashOptions) -> int:
    """Index of the feature that Vowpal Wabbit adds for the slot at `position` (from 0)."""
    return hash_text(f"index{position}", namespace_seed("_id", options), options) & options.mask


def hash_tokens(namespace: str, tokens: Sequence[Token], options: HashOptions) -> Block:
    """Features of one namespace as a column; features with value 0 are dropped, as `vw` does."""
    seed, mask = namespace_seed(namespace, options), options.mask
    kept = [(hash_text(name, seed, options) & mask, value) for name, value in tokens if value != 0]
    return column([index for index, _ in kept], [value for _, value in kept])


def column(indices: Sequence[int], values: Sequence[float]) -> Block:
    """A block of one column."""
    return np.array([indices], dtype=np.uint32).T, np.array([values], dtype=np.float32).T


def interact(parts: Sequence[tuple[str, Block]], mask: int) -> Block:
    """All combinations of an interaction term; `parts` are (namespace, block), columns match or are one.

    A namespace that follows itself is combined without mirrored pairs, self-pairs included, as `vw` does.
    """
    index: Hashes = np.zeros((1, 1), dtype=np.uint32)
    value: Values = np.ones((1, 1), dtype=np.float32)
    for _, run in groupby(parts, key=lambda part: part[0]):
        blocks = [block for _, block in run]
        hashes, values = blocks[0]
        index, value = index[:, None], value[:, None]
        for step in _combinations(len(hashes), len(blocks)):
            index = (index * _FNV) ^ hashes[step]
            value = value * values[step]
        index = index.reshape(-1, index.shape[-1])
        value = value.reshape(-1, value.shape[-1])
    return index & np.uint32(mask), value


@cache
def _combinations(count: int, repeats: int) -> tuple[slice | NDArray[np.intp], ...]:
    if repeats == 1:
        return (slice(None),)
    rows = list(combinations_with_replacement(range(count), repeats))
    return tuple(np.array(rows, dtype=np.intp).reshape(-1, repeats).T)
