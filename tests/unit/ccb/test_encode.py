"""The encoder's text against Vowpal Wabbit itself, and against hand-written lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st

from featuredsl.ccb.encode import action_line, encode_example, training_text
from featuredsl.ccb.preprocess import IDENTITY, Preprocessor, build_vocabulary
from featuredsl.ccb.types import Action, DecisionRequest, Example, Slot, SlotLabel
from schemas.records import RecordError

HOSTILE = (
    "",
    " ",
    "|",
    "a|b",
    "a:b",
    "x y",
    "http://x/?a=1|2",
    "\t",
    "\n",
    "\r\n",
    "\x00",
    "Größe",
    "日本",
    "=",
    "%",
    "%e",
)


@pytest.fixture(scope="module")
def predictor() -> Iterator[vowpalwabbit.Workspace]:
    with vowpalwabbit.Workspace("--ccb_explore_adf --quiet --strict_parse -q CA -b 14") as workspace:
        yield workspace


@pytest.fixture(scope="module")
def predict(predictor: vowpalwabbit.Workspace) -> Callable[[str], list[list[tuple[int, float]]]]:
    return lambda text: predictor.predict(text)


def request(count: int = 3, slots: int = 1, text: str = "x", seed: str | None = None) -> DecisionRequest:
    return DecisionRequest(
        context={text: 1.5, "user": text},
        candidates=tuple(Action(f"{text}{at}", {"brand": text, "price": 0.5 + at}) for at in range(count)),
        slots=tuple(Slot(f"{text}{at}", {"pos": text}) for at in range(slots)),
        seed=seed,
    )


def features(example: vowpalwabbit.Example) -> tuple[str, int]:
    """The namespace of the example and its number of features, without the constant."""
    named = [at for at in range(example.num_namespaces()) if example.get_ns(at).ns != "\x80"]
    assert len(named) == 1
    return example.get_ns(named[0]).ns, example.num_features_in(named[0])


def test_text_of_a_labelled_decision_is_the_documented_one() -> None:
    decision = DecisionRequest(
        context={"User": "New Kid", "hour": 3, "vip": True, "none": None, "zero": 0.0},
        candidates=(Action("12", {"price": 0.3}), Action("a|b")),
        slots=(Slot("1"), Slot("2", {"w": 2}, exclude=("12",))),
        seed="r1",
    )
    labels = [SlotLabel("12", -1.0, 0.25), SlotLabel("a|b", 0.0, 1.0)]
    assert encode_example(decision, labels).split("\n") == [
        "ccb shared |C User=new_kid hour:3 vip=true",
        "ccb action |A action_id=12 price:0.3",
        "ccb action |A action_id=a%7Cb",
        "ccb slot 0:-1:0.25 seed=r1-0|S slot_id=1",
        "ccb slot 1:0:1 1 seed=r1-1|S slot_id=2 w:2",
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_neither_breaks_the_example_nor_changes_its_features(
    predictor: vowpalwabbit.Workspace, text: str
) -> None:
    parsed = predictor.parse(encode_example(request(3, 2, text), None))
    try:
        assert len(parsed) == 1 + 3 + 2
        assert [features(example) for example in parsed] == [("C", 2), *[("A", 3)] * 3, *[("S", 2)] * 2]
    finally:
        predictor.finish_example(parsed)


@settings(max_examples=150, deadline=None)
@given(
    features=st.dictionaries(
        st.text(max_size=8),
        st.one_of(st.text(max_size=8), st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False)),
        max_size=5,
    ),
    action_id=st.text(min_size=1, max_size=6),
)
def test_any_features_give_a_probability_for_every_candidate(
    predict: Callable[[str], list[list[tuple[int, float]]]],
    features: dict[str, str | float | int | bool | None],
    action_id: str,
) -> None:
    finite = {k: v for k, v in features.items() if not isinstance(v, float) or math.isfinite(v)}
    decision = DecisionRequest(
        context=finite,
        candidates=(Action(action_id, finite), Action(action_id + "'")),
        slots=(Slot(action_id, finite),),
    )
    prediction = predict(encode_example(decision, None))
    assert len(prediction) == 1
    assert sorted(action for action, _ in prediction[0]) == [0, 1]
    assert sum(probability for _, probability in prediction[0]) == pytest.approx(1.0, abs=1e-6)


def test_learner_prefers_what_was_clicked() -> None:
    with vowpalwabbit.Workspace("--ccb_explore_adf --quiet --strict_parse -q CA --epsilon 0.1") as workspace:
        decision = request(4)
        for step in range(200):
            chosen = decision.candidates[step % 4].action_id
            cost = -1.0 if step % 4 == 2 else 0.0
            workspace.learn(encode_example(decision, [SlotLabel(chosen, cost, 0.25)]))
        best = max(workspace.predict(encode_example(decision, None))[0], key=lambda pair: pair[1])
    assert best == (2, pytest.approx(0.925, abs=1e-6))


@pytest.mark.parametrize(
    ("include", "exclude", "allowed"),
    [
        ((), (), [0, 1, 2, 3]),
        (("x2",), (), [2]),
        (("x0", "x3"), (), [0, 3]),
        ((), ("x1",), [0, 2, 3]),
        (("x1", "x2"), ("x1",), [2]),
    ],
)
def test_include_and_exclude_lists_restrict_the_actions(
    predictor: vowpalwabbit.Workspace, include: tuple[str, ...], exclude: tuple[str, ...], allowed: list[int]
) -> None:
    decision = request(4)
    slot = Slot("1", include=include, exclude=exclude)
    text = encode_example(DecisionRequest(decision.context, decision.candidates, (slot,)), None)
    assert sorted(action for action, _ in predictor.predict(text)[0]) == allowed


def test_the_seed_makes_a_prediction_repeatable(predictor: vowpalwabbit.Workspace) -> None:
    texts = [encode_example(request(10, 2, seed=f"r {at}"), None) for at in range(20)]
    first = [predictor.predict(text) for text in texts]
    assert [predictor.predict(text) for text in texts] == first


def test_changing_action_counts_do_not_disturb_later_predictions(predictor: vowpalwabbit.Workspace) -> None:
    alone = predictor.predict(encode_example(request(5, seed="s"), None))
    for count in range(1, 31):
        assert len(predictor.predict(encode_example(request(count), None))[0]) == count
    assert predictor.predict(encode_example(request(5, seed="s"), None)) == alone


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([], "bad_label"),
        ([SlotLabel("nine", 0.0, 0.5)], "unknown_action"),
        ([SlotLabel("x0", 0.0, 0.0)], "bad_probability"),
        ([SlotLabel("x0", 0.0, -0.1)], "bad_probability"),
        ([SlotLabel("x0", 0.0, 1.5)], "bad_probability"),
        ([SlotLabel("x0", 0.0, float("nan"))], "bad_probability"),
        ([SlotLabel("x0", 0.0, 1e-40)], "bad_probability"),
        ([SlotLabel("x0", float("inf"), 0.5)], "bad_cost"),
        ([SlotLabel("x0", float("nan"), 0.5)], "bad_cost"),
        ([SlotLabel("x0", 1e30, 0.5)], "bad_cost"),
    ],
)
def test_labels_that_would_ruin_the_learner_are_refused(labels: list[SlotLabel], reason: str) -> None:
    with pytest.raises(RecordError) as caught:
        encode_example(request(), labels)
    assert caught.value.reason == reason


def test_weight_divides_the_probability_in_the_text() -> None:
    example = Example("e", 0, request(), (SlotLabel("x0", -1.0, 0.5),), weight=10.0)
    assert " 0:-1:0.05 " in training_text(example)


def test_vocabulary_folds_rare_texts_and_survives_json() -> None:
    rows = [request(2, text="x")] * 3 + [request(2, text="rare")]
    pre = Preprocessor(build_vocabulary(rows, min_count=2))
    assert "user=x" in encode_example(rows[0], None, pre)
    text = encode_example(rows[3], None, pre)
    assert "user=other" in text
    assert "action_id=other" in text
    again = Preprocessor.from_json(pre.to_json())
    assert again == pre
    assert again.digest() == pre.digest() != Preprocessor().digest()


def test_the_order_of_the_fields_does_not_matter() -> None:
    one = Action("a", {"price": 2.5, "brand": "x", "new": True})
    other = Action("a", {"new": True, "brand": "x", "price": 2.5})
    assert action_line(one, IDENTITY) == action_line(other, IDENTITY)
