"""Options of a saved Vowpal Wabbit CCB model -> how to read features and how to explore.

Everything that changes a score or a probability must be known here; an option that is not listed is refused rather
than ignored.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence

import numpy as np

from featuredsl.ccb.explore import EpsilonGreedy, Exploration, Softmax, SquareCB
from featuredsl.ccb.features import SLOT_ID, FeatureSpace
from featuredsl.ccb.hashing import MAX_BITS, HashOptions
from featuredsl.ccb.preprocess import ACTION, CONTEXT, SLOT
from featuredsl.errors import InputError, UnsupportedError

NAMESPACES = (ACTION, CONTEXT, SLOT)
WILDCARD = ":"
_INTERACTIONS = ("quadratic", "cubic", "interactions")
# fmt: off
_WITHOUT_EFFECT = (
    "adaptive", "all_slots_loss", "cache_file", "cb_adf", "cb_explore_adf", "cb_sample", "ccb_explore_adf",
    "clip_p", "csoaa_ldf", "csoaa_rank", "data", "decay_learning_rate", "final_regressor", "holdout_off",
    "initial_regressor", "initial_t", "invariant", "l1", "l2", "learning_rate", "no_stdin", "normalized", "passes",
    "power_t", "quiet", "random_seed", "readable_model", "save_resume", "sgd", "testonly",
)
_READ = (
    "bit_precision", "cb_type", "cubic", "epsilon", "first_only", "gamma_exponent", "gamma_scale", "hash",
    "hash_seed", "ignore_linear", "interactions", "lambda", "loss_function", "noconstant", "quadratic", "softmax",
    "squarecb",
)
# fmt: on
_MULTI_SLOT = "CCB: has_seen_multi_slot_example = true"
_SQUARE_CB_COUNT = re.compile(r"squarecb.*counter\D*(\d+)")

_RELOAD = frozenset({"initial_regressor", "readable_model", "testonly", "quiet", "no_stdin"})
_SHORT = {"-q": "--quadratic", "-b": "--bit_precision", "-l": "--learning_rate"}

Options = Mapping[str, Sequence[str]]


def parse(arguments: str) -> dict[str, list[str]]:
    """`--name value …` as a mapping from name to its values; an option given twice has all values."""
    options: dict[str, list[str]] = {}
    name = ""
    for word in shlex.split(arguments):
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options.setdefault(name, []).extend([value] if value else [])
        elif name:
            options[name].append(word)
    return options


def parse_given(arguments: str) -> dict[str, list[str]]:
    """As `parse`, for options that a person wrote: short forms are spelled out, and all must be supported."""
    words = [_SHORT.get(word, word) for word in _split(arguments)]
    strange = [word for word in words if word.startswith("-") and not _is_option(word)]
    if strange or (words and not words[0].startswith("--")):
        msg = f"{(strange or words)[0]!r} is not an option that training knows; supported are {', '.join(_READ)}"
        raise UnsupportedError(msg)
    options = parse(shlex.join(words))
    check(options)
    files = sorted({"data", "final_regressor", "initial_regressor", "cache_file", "readable_model"} & set(options))
    if files:
        msg = f"--{files[0]} is set by the trainer; leave it out"
        raise UnsupportedError(msg)
    return options


def spelled(options: Options) -> str:
    """Options as one argument text."""
    return shlex.join(word for name, values in options.items() for word in (f"--{name}", *values))


def effective(options: Options) -> str:
    """The options of a reloaded model without those of the reload itself."""
    return spelled({name: values for name, values in options.items() if name not in _RELOAD})


def check(options: Options) -> None:
    """Raise UnsupportedError for an option that an exported model could not honour."""
    unknown = sorted(set(options).difference(_WITHOUT_EFFECT, _READ))
    if unknown:
        msg = f"--{unknown[0]} is not supported in an exported model; supported are {', '.join(_READ)}"
        raise UnsupportedError(msg)
    for name, allowed in (("cb_type", {"mtr", "ips"}), ("loss_function", {"squared"}), ("hash", {"strings", "all"})):
        given = set(options.get(name, ())) - allowed
        if given:
            msg = f"--{name} {given.pop()} is not supported in an exported model; use {' or '.join(sorted(allowed))}"
            raise UnsupportedError(msg)
    _bits(options)


def feature_space(options: Options, header: Sequence[str]) -> FeatureSpace:
    """Hashing and terms of a checked model. The model must have seen slot features (our encoding has them)."""
    if _MULTI_SLOT not in header:
        msg = "the model has never seen slot features; train it on examples that featuredsl encoded"
        raise UnsupportedError(msg)
    hashing = HashOptions(
        bits=_bits(options),
        all_strings=_last(options, "hash", "strings") == "all",
        seed=int(_last(options, "hash_seed", "0")),
    )
    ignored = set("".join(options.get("ignore_linear", ())))
    linear = [name for name in (*NAMESPACES, SLOT_ID) if name not in ignored]
    given = [term for name in _INTERACTIONS for term in options.get(name, ())]
    return FeatureSpace(hashing, tuple(linear + interaction_terms(given)), "noconstant" not in options)


def interaction_terms(given: Sequence[str]) -> list[str]:
    """The interactions of a multi-slot model: those given, each with the slot's position, and every namespace with it.

    Order matters for hashing: `CA` and `AC` have other indices. Terms of the same namespaces count once, the
    first (shorter, then alphabetical) wins, and a term that repeats a namespace is sorted.
    """
    for term in given:
        strange = set(term) - {*NAMESPACES, WILDCARD}
        if strange or len(term) < 2:
            msg = f"interaction {term!r}: use two or more of the namespaces {', '.join(NAMESPACES)} or ':'"
            raise UnsupportedError(msg)
        if len(list(itertools.groupby(term))) != len(set(term)):
            msg = f"interaction {term!r}: write a repeated namespace side by side"
            raise UnsupportedError(msg)
    wanted = [*given, *(term + SLOT_ID for term in given), WILDCARD + SLOT_ID]
    expanded = sorted({term for one in wanted for term in _expand(one)}, key=lambda term: (len(term), _code(term)))
    unique: dict[str, str] = {}
    for term in expanded:
        unique.setdefault("".join(sorted(term)), term)
    return [_sorted_if_repeated(term) for term in unique.values()]


def exploration(options: Options, header: Sequence[str]) -> Exploration:
    """The exploration rule of a checked model."""
    epsilon = float(_last(options, "epsilon", "0"))
    if "squarecb" in options:
        counts = [match for line in header if (match := _SQUARE_CB_COUNT.search(line))]
        if not counts:
            msg = "the model's SquareCB example counter was not found in its header"
            raise UnsupportedError(msg)
        power = np.float32(float(counts[0].group(1)) ** float(np.float32(_last(options, "gamma_exponent", "0.5"))))
        return SquareCB(float(np.float32(_last(options, "gamma_scale", "10")) * power), epsilon)
    if "softmax" in options:
        return Softmax(float(_last(options, "lambda", "1")), epsilon)
    return EpsilonGreedy(float(_last(options, "epsilon", "0.05")), "first_only" in options)


def _split(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError as error:
        msg = f"the Vowpal Wabbit options {arguments!r} cannot be read: {str(error).lower()}"
        raise InputError(msg) from error


def _is_option(word: str) -> bool:
    """Long options, and negative numbers, which are values."""
    return word.startswith("--") or word[1:2].isdigit()


def _bits(options: Options) -> int:
    given = _last(options, "bit_precision", "18")
    if not given.isdecimal() or not 1 <= int(given) <= MAX_BITS:
        msg = f"--bit_precision {given} is not supported in an exported model; use 1 to {MAX_BITS}"
        raise UnsupportedError(msg)
    return int(given)


def _last(options: Options, name: str, default: str) -> str:
    values = options.get(name)
    return values[-1] if values else default


def _expand(term: str) -> list[str]:
    """A wildcard stands for every namespace; several of them for combinations without mirrored ones."""
    count = term.count(WILDCARD)
    filled = []
    for names in itertools.combinations_with_replacement(sorted(NAMESPACES), count):
        rest = iter(names)
        filled.append("".join(next(rest) if name == WILDCARD else name for name in term))
    return filled


def _code(term: str) -> list[int]:
    """Sort key: the slot's position is namespace 140, after all letters."""
    return [140 if name == SLOT_ID else ord(name) for name in term]


def _sorted_if_repeated(term: str) -> str:
    repeated = any(first == second for first, second in itertools.pairwise(term))
    return "".join(sorted(term, key=_code)) if repeated and len(set(term)) > 1 else term
