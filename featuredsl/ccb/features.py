"""From decision requests to the padded index and value matrices that an exported model scores.

Per candidate there is one column with the terms that depend on the candidate; terms of the context and the slot
alone (and the constant) are the same for all candidates of a slot and go into a shared column. Hashed candidates are
kept in a bounded cache, as are whole candidate sets, because catalogs change far less often than requests come.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from featuredsl.ccb.hashing import (
    CONSTANT,
    Block,
    Hashes,
    HashOptions,
    Values,
    column,
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
    """What scores the candidates of one slot: `own` [terms, candidates] and `shared` [terms, 1]."""

    own: Block
    shared: Block


class TwoGenerations(Generic[Key, Value]):
    """A bounded mapping without bookkeeping on hits: what was not used for a whole generation is forgotten."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of `key`, made and remembered when absent. Safe for threads: at worst it is made twice."""
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            value = make() if value is None else value
            if len(self._young) >= self._capacity:
                self._old, self._young = self._young, {}
            self._young[key] = value
        return value


@dataclass(eq=False, slots=True)
class _Candidate:
    """The hashed features of one action; compared and hashed by identity."""

    block: Block


@dataclass(eq=False, slots=True)
class _CandidateSet:
    """Features of a candidate list side by side; `by_position` has the terms that need no context, per slot."""

    block: Block
    by_position: dict[int, list[Block]] = field(default_factory=dict)


class FeatureBuilder:
    """Turns requests into matrices for one model; keeps its caches between requests."""

    def __init__(self, space: FeatureSpace, pre: Preprocessor, actions: int = 50_000, candidate_sets: int = 64) -> None:
        self._space = space
        self._pre = pre
        self._shared, self._cached, self._mixed = space.shared, space.cached, space.mixed
        self._actions: TwoGenerations[Hashable, _Candidate] = TwoGenerations(actions)
        self._sets: TwoGenerations[tuple[_Candidate, ...], _CandidateSet] = TwoGenerations(candidate_sets)
        self._tuples: TwoGenerations[int, tuple[tuple[Action, ...], _CandidateSet]] = TwoGenerations(candidate_sets)

    def build(self, request: DecisionRequest) -> list[SlotInput]:
        """One input per slot, for all candidates of the request."""
        context = hash_tokens(CONTEXT, self._pre.context(request.context), self._space.hashing)
        candidates = self._candidate_set(request.candidates)
        return [self._slot_input(candidates, context, slot, position) for position, slot in enumerate(request.slots)]

    def _slot_input(self, candidates: _CandidateSet, context: Block, slot: Slot, position: int) -> SlotInput:
        options = self._space.hashing
        spaces = {
            ACTION: candidates.block,
            CONTEXT: context,
            SLOT: hash_tokens(SLOT, self._pre.slot(slot), options),
            SLOT_ID: column([slot_index(position, options)], [1.0]),
        }
        fixed = candidates.by_position.get(position)
        if fixed is None:
            fixed = [self._term(term, spaces) for term in self._cached]
            candidates.by_position[position] = fixed
        mixed = [self._term(term, spaces) for term in self._mixed]
        shared = [self._term(term, spaces) for term in self._shared]
        if self._space.constant:
            shared.append(column([CONSTANT & options.mask], [1.0]))
        return SlotInput(_below([*fixed, *mixed]), _below(shared))

    def _term(self, term: str, spaces: dict[str, Block]) -> Block:
        if len(term) == 1:
            return spaces[term]
        return interact([(name, spaces[name]) for name in term], self._space.hashing.mask)

    def _candidate_set(self, actions: tuple[Action, ...]) -> _CandidateSet:
        """Callers that pass the identical tuple again (a catalog does) are recognised without a look into it.

        The entry holds the tuple, so its id cannot become another one's.
        """
        return self._tuples.get(id(actions), lambda: (actions, self._hashed_set(actions)))[1]

    def _hashed_set(self, actions: tuple[Action, ...]) -> _CandidateSet:
        hashed = tuple([self._candidate(action) for action in actions])
        return self._sets.get(hashed, lambda: _CandidateSet(_beside(hashed)))

    def _candidate(self, action: Action) -> _Candidate:
        """Values that are equal across types (1, 1.0, True) have keys of their own."""
        features = action.features
        values = tuple(features.values())
        key = (action.action_id, *features, values, tuple(map(type, values)))
        return self._actions.get(key, lambda: _Candidate(self._hash(action)))

    def _hash(self, action: Action) -> Block:
        return hash_tokens(ACTION, self._pre.action(action), self._space.hashing)


def _beside(candidates: Sequence[_Candidate]) -> Block:
    """One column per candidate, padded with value 0."""
    height = max((len(candidate.block[0]) for candidate in candidates), default=0)
    index: Hashes = np.zeros((height, len(candidates)), dtype=np.uint32)
    value: Values = np.zeros((height, len(candidates)), dtype=np.float32)
    for at, candidate in enumerate(candidates):
        hashes, values = candidate.block
        index[: len(hashes), at] = hashes[:, 0]
        value[: len(values), at] = values[:, 0]
    return index, value


def _below(blocks: Sequence[Block]) -> Block:
    """Blocks below each other; never without columns, because every block of a slot has the same number of them."""
    return np.concatenate([index for index, _ in blocks]), np.concatenate([value for _, value in blocks])
