"""Drift events and retrain triggers as one line of text and as payloads of chat, paging and webhook receivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Event = Mapping[str, Any]
PREFIX = "featuredsl.drift."
_COLOURS = {"page": "#b3001b", "critical": "#d9480f", "warning": "#e8a200"}
_PAGERDUTY = {"page": "critical", "critical": "error", "warning": "warning"}


def kind(event: Event) -> str:
    """firing, update, resolved, retracted or nodata; `trigger` for a retrain trigger."""
    return str(event["type"]).removeprefix(PREFIX) if "type" in event else "trigger"


def line(event: Event) -> str:
    """One line for a log or a terminal."""
    if kind(event) == "trigger":
        return _trigger_line(event)
    data = event["data"]
    parts = [
        f"[{kind(event).upper()}]",
        str(data.get("severity") or "info"),
        str(event.get("subject", data.get("feature", ""))),
        str(data.get("check", "")),
        _value(data),
        f"{data.get('window_start', '')}",
    ]
    if kind(event) in ("update", "resolved"):
        parts.append(f"for {data.get('duration_hours')} h, peak {_number(data.get('peak'))}")
    if data.get("co_moving"):
        parts.append(f"with {len(data['co_moving'])} more: {', '.join(map(str, data['co_moving'][:5]))}")
    return " ".join(part for part in parts if part)


def slack(event: Event) -> dict[str, Any]:
    """An incoming-webhook payload of Slack's form."""
    if kind(event) == "trigger":
        return {"text": line(event)}
    data = event["data"]
    fields = [
        {"title": title, "value": value, "short": True}
        for title, value in (
            ("value", _value(data)),
            ("rows", f"{data.get('n_baseline')} / {data.get('m_current')}"),
            ("window", f"{data.get('window_start')} - {data.get('window_end')}"),
            ("peak", _number(data.get("peak"))),
        )
    ]
    links = [f"<{url}|{name.removesuffix('_url')}>" for name, url in sorted((data.get("links") or {}).items())]
    colour = "#2f9e44" if kind(event) == "resolved" else _COLOURS.get(str(data.get("severity")), "#868e96")
    text = " ".join([str(data.get("threshold_reason") or ""), *links]).strip()
    return {"text": line(event), "attachments": [{"color": colour, "fields": fields, "text": text}]}


def pagerduty(event: Event, routing_key: str) -> dict[str, Any]:
    """An event of PagerDuty's Events API v2; updates trigger again under the same key, which pages nobody twice."""
    data = event["data"]
    ends = kind(event) in ("resolved", "retracted")
    return {
        "routing_key": routing_key,
        "event_action": "resolve" if ends else "trigger",
        "dedup_key": data["dedup_key"],
        "payload": {
            "summary": line(event)[:1024],
            "source": str(event.get("source", "featuredsl")),
            "severity": _PAGERDUTY.get(str(data.get("severity")), "info"),
            "timestamp": event.get("time"),
            "component": data.get("feature"),
            "group": data.get("model"),
            "class": data.get("check"),
            "custom_details": dict(data),
        },
        "links": [{"href": url, "text": name} for name, url in sorted((data.get("links") or {}).items())],
    }


def _trigger_line(trigger: Event) -> str:
    parts = [
        "[RETRAIN]",
        str(trigger["decision"]),
        str(trigger["model"]),
        str(trigger["reason"]),
        str(trigger["trigger_id"]),
    ]
    if trigger.get("subject"):
        parts.append(f"because of {trigger['subject']}")
    if trigger.get("detail"):
        parts.append(f"({trigger['detail']})")
    return " ".join(parts)


def _value(data: Mapping[str, Any]) -> str:
    if data.get("value") is None:
        return str(data.get("threshold_reason") or "")
    text = f"{_number(data['value'])} (threshold {_number(data.get('threshold'))}"
    return text + (f", at least {_number(data['lower'])})" if data.get("lower") is not None else ")")


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else "none"
