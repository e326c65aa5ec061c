from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Value(_message.Message):
    __slots__ = ("text", "integer", "number", "flag")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    text: str
    integer: int
    number: float
    flag: bool
    def __init__(self, text: _Optional[str] = ..., integer: _Optional[int] = ..., number: _Optional[float] = ..., flag: bool = ...) -> None: ...

class Candidate(_message.Message):
    __slots__ = ("action_id", "features")
    class FeaturesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...
    ACTION_ID_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    action_id: str
    features: _containers.MessageMap[str, Value]
    def __init__(self, action_id: _Optional[str] = ..., features: _Optional[_Mapping[str, Value]] = ...) -> None: ...

class Slot(_message.Message):
    __slots__ = ("slot_id", "features", "include", "exclude")
    class FeaturesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...
    SLOT_ID_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    slot_id: str
    features: _containers.MessageMap[str, Value]
    include: _containers.RepeatedScalarFieldContainer[str]
    exclude: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, slot_id: _Optional[str] = ..., features: _Optional[_Mapping[str, Value]] = ..., include: _Optional[_Iterable[str]] = ..., exclude: _Optional[_Iterable[str]] = ...) -> None: ...

class DecideRequest(_message.Message):
    __slots__ = ("request_id", "model", "unit_id", "tenant", "entities", "context", "request", "candidates", "slots", "seed", "ts")
    class EntitiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...
    class ContextEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...
    class RequestEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    UNIT_ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    TS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    model: str
    unit_id: str
    tenant: str
    entities: _containers.MessageMap[str, Value]
    context: _containers.MessageMap[str, Value]
    request: _containers.MessageMap[str, Value]
    candidates: _containers.RepeatedCompositeFieldContainer[Candidate]
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    seed: str
    ts: int
    def __init__(self, request_id: _Optional[str] = ..., model: _Optional[str] = ..., unit_id: _Optional[str] = ..., tenant: _Optional[str] = ..., entities: _Optional[_Mapping[str, Value]] = ..., context: _Optional[_Mapping[str, Value]] = ..., request: _Optional[_Mapping[str, Value]] = ..., candidates: _Optional[_Iterable[_Union[Candidate, _Mapping]]] = ..., slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., seed: _Optional[str] = ..., ts: _Optional[int] = ...) -> None: ...

class Ranked(_message.Message):
    __slots__ = ("action_id", "score", "probability")
    ACTION_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    action_id: str
    score: float
    probability: float
    def __init__(self, action_id: _Optional[str] = ..., score: _Optional[float] = ..., probability: _Optional[float] = ...) -> None: ...

class SlotDecision(_message.Message):
    __slots__ = ("slot_id", "chosen", "probability", "ranking")
    SLOT_ID_FIELD_NUMBER: _ClassVar[int]
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    RANKING_FIELD_NUMBER: _ClassVar[int]
    slot_id: str
    chosen: str
    probability: float
    ranking: _containers.RepeatedCompositeFieldContainer[Ranked]
    def __init__(self, slot_id: _Optional[str] = ..., chosen: _Optional[str] = ..., probability: _Optional[float] = ..., ranking: _Optional[_Iterable[_Union[Ranked, _Mapping]]] = ...) -> None: ...

class DecideResponse(_message.Message):
    __slots__ = ("request_id", "model", "model_version", "slots", "features", "feature_status", "fallback", "latency_ms", "stages")
    class FeaturesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...
    class FeatureStatusEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class StagesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MODEL_VERSION_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    FEATURE_STATUS_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    LATENCY_MS_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    model: str
    model_version: str
    slots: _containers.RepeatedCompositeFieldContainer[SlotDecision]
    features: _containers.MessageMap[str, Value]
    feature_status: _containers.ScalarMap[str, str]
    fallback: _containers.RepeatedScalarFieldContainer[str]
    latency_ms: float
    stages: _containers.ScalarMap[str, float]
    def __init__(self, request_id: _Optional[str] = ..., model: _Optional[str] = ..., model_version: _Optional[str] = ..., slots: _Optional[_Iterable[_Union[SlotDecision, _Mapping]]] = ..., features: _Optional[_Mapping[str, Value]] = ..., feature_status: _Optional[_Mapping[str, str]] = ..., fallback: _Optional[_Iterable[str]] = ..., latency_ms: _Optional[float] = ..., stages: _Optional[_Mapping[str, float]] = ...) -> None: ...

class RewardRequest(_message.Message):
    __slots__ = ("request_id", "value", "slot_id", "ts", "columns")
    class ColumnsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SLOT_ID_FIELD_NUMBER: _ClassVar[int]
    TS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    value: float
    slot_id: str
    ts: int
    columns: _containers.MessageMap[str, Value]
    def __init__(self, request_id: _Optional[str] = ..., value: _Optional[float] = ..., slot_id: _Optional[str] = ..., ts: _Optional[int] = ..., columns: _Optional[_Mapping[str, Value]] = ...) -> None: ...

class RewardResponse(_message.Message):
    __slots__ = ("request_id", "accepted")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    accepted: bool
    def __init__(self, request_id: _Optional[str] = ..., accepted: bool = ...) -> None: ...
