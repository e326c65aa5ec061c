"""From decision requests to the padded index and value matrices that an exported model scores.

Per candidate there is one row with the terms that depend on the candidate; terms of the context and the slot alone
(and the constant) are the same for all candidates of a slot and go into a shared row. Hashed candidates are kept in
a bounded cache, as are whole candidate sets, because catalogs change far less often than requests come.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from featuredsl.ccb.hashing import (
    CONSTANT,
    Block,
    Hashes,
    HashOptions,
    Values,
    hash_tokens,
    interact,
    slot_index,
)
from featuredsl.ccb.preprocess import ACTION, CONTEXT, SLOT, Preprocessor
from featuredsl.ccb.types import Action, DecisionRequest, Slot

SLOT_ID = "#"
"""Stands for the namespace of the slot's position, which Vowpal Wabbit adds by itself."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """How a trained model reads features: hashing, the constant, and terms as strings over C, A, S and #.

    A term of one letter is a linear term. `ignore_linear` has already been applied to the terms.
    """

    hashing: HashOptions
    terms: tuple[str, ...]
    constant: bool = True

    @property
    def shared(self) -> tuple[str, ...]:
        """Terms without the candidate."""
        return tuple(term for term in self.terms if ACTION not in term)

    @property
    def cached(self) -> tuple[str, ...]:
        """Terms of the candidate and the slot's position only."""
        return tuple(term for term in self.terms if ACTION in term and set(term) <= {ACTION, SLOT_ID})

    @property
    def mixed(self) -> tuple[str, ...]:
        """Terms of the candidate with the context or the slot."""
        return tuple(term for term in self.terms if ACTION in term and not set(term) <= {ACTION, SLOT_ID})


class SlotInput(NamedTuple):
    """What scores the candidates of one slot: `rows` [candidates, terms] and `shared` [1, terms]."""

    rows: Block
    shared: Block


class LeastRecent(Generic[Key, Value]):
    """A bounded mapping that forgets the least recently used entry."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of `key`, made and remembered when absent. Safe for threads: at worst it is made twice."""
        try:
            value = self._entries[key]
            self._entries.move_to_end(key)
        except KeyError:
            value = make()
            self._entries[key] = value
            while len(self._entries) > self._capacity:
                self._forget()
        return value

    def _forget(self) -> None:
        try:
            self._entries.popitem(last=False)
        except KeyError:
            return


@dataclass(eq=False, slots=True)
class _CandidateSet:
    """Stacked features of a candidate list; `by_position` holds the terms that need no context, per slot."""

    block: Block
    by_position: dict[int, list[Block]] = field(default_factory=dict)


class FeatureBuilder:
    """Turns requests into matrices for one model; keeps its caches between requests."""

    def __init__(
        self, space: FeatureSpace, pre: Preprocessor, actions: int = 100_000, candidate_sets: int = 64
    ) -> None:
        self._space = space
        self._pre = pre
        self._shared, self._cached, self._mixed = space.shared, space.cached, space.mixed
        self._actions: LeastRecent[Any, Block] = LeastRecent(actions)
        self._sets: LeastRecent[Any, _CandidateSet] = LeastRecent(candidate_sets)

    def build(self, request: DecisionRequest) -> list[SlotInput]:
        """One input per slot, for all candidates of the request."""
        options = self._space.hashing
        context = _row(hash_tokens(CONTEXT, self._pre.context(request.context), options))
        candidates = self._candidates(request.candidates)
        return [
            self._slot_input(candidates, context, slot, position)
            for position, slot in enumerate(request.slots)
        ]

    def _slot_input(
        self, candidates: _CandidateSet, context: Block, slot: Slot, position: int
    ) -> SlotInput:
        options = self._space.hashing
        spaces = {
            ACTION: candidates.block,
            CONTEXT: context,
            SLOT: _row(hash_tokens(SLOT, self._pre.slot(slot), options)),
            SLOT_ID: _single(slot_index(position, options)),
        }
        fixed = candidates.by_position.get(position)
        if fixed is None:
            fixed = [self._term(term, spaces) for term in self._cached]
            candidates.by_position[position] = fixed
        mixed = [self._term(term, spaces) for term in self._mixed]
        shared = [self._term(term, spaces) for term in self._shared]
        if self._space.constant:
            shared.append(_single(CONSTANT & options.mask))
        return SlotInput(_side_by_side([*fixed, *mixed], len(candidates.block[0])), _side_by_side(shared, 1))

    def _term(self, term: str, spaces: dict[str, Block]) -> Block:
        if len(term) == 1:
            return spaces[term]
        return interact([(name, spaces[name]) for name in term], self._space.hashing.mask)

    def _candidates(self, candidates: Sequence[Action]) -> _CandidateSet:
        keys = tuple(map(_action_key, candidates))
        return self._sets.get(keys, lambda: self._stack(keys, candidates))

    def _stack(self, keys: Sequence[Hashable], candidates: Sequence[Action]) -> _CandidateSet:
        return _CandidateSet(
            _padded([self._actions.get(key, lambda action=action: self._hash(action)) for key, action in zip(keys, candidates, strict=True)])
        )

    def _hash(self, action: Action) -> Block:
        return hash_tokens(ACTION, self._pre.action(action), self._space.hashing)


def _action_key(action: Action) -> Hashable:
    """Equal keys mean equal features: values that are equal across types (1, 1.0, True) are told apart."""
    features = action.features
    values = tuple(features.values())
    return action.action_id, tuple(features), values, tuple(map(type, values))


def _padded(blocks: Sequence[Block]) -> Block:
    width = max((len(hashes) for hashes, _ in blocks), default=0)
    index: Hashes = np.zeros((len(blocks), width), dtype=np.uint32)
    value: Values = np.zeros((len(blocks), width), dtype=np.float32)
    for row, (hashes, values) in enumerate(blocks):
        index[row, : len(hashes)] = hashes
        value[row, : len(values)] = values
    return index, value


def _row(block: Block) -> Block:
    return block[0][None, :], block[1][None, :]


def _single(index: int) -> Block:
    return np.array([[index]], dtype=np.uint32), np.ones((1, 1), dtype=np.float32)


def _side_by_side(blocks: Iterable[Block], rows: int) -> Block:
    filled = [block for block in blocks if block[0].shape[1]]
    if not filled:
        return np.zeros((rows, 1), dtype=np.uint32), np.zeros((rows, 1), dtype=np.float32)
    return np.concatenate([index for index, _ in filled], axis=1), np.concatenate(
        [value for _, value in filled], axis=1
    )
