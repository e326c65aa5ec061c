"""Prometheus' text format: escapes, numbers, what is left out; read back by the official parser."""

from __future__ import annotations

import math

from prometheus_client.parser import text_string_to_metric_families

from monitors.exposition import Family, render


def test_it_reads_back() -> None:
    tricky = 'a"b\\c\nd'
    text = render(
        [
            Family("x_total", "counter", "Help\nwith \\ lines.", (({"k": tricky}, 2**53 + 1), ({"k": "no"}, None))),
            Family("empty", "gauge", "Nothing.", (({}, None),)),
            Family("y", "gauge", "Numbers.", (({}, 0.1), ({"n": "1"}, math.inf), ({"n": "2"}, -math.inf))),
        ]
    )
    read = {sample.labels.get("k"): sample.value for f in text_string_to_metric_families(text) for sample in f.samples}
    assert read[tricky] == 2**53 + 1
    assert "x_total{" in text
    assert str(2**53 + 1) in text
    assert "no" not in text.replace("n=", "")
    assert "empty" not in text
    assert "y 0.1\n" in text
    assert 'y{n="1"} +Inf\n' in text
    assert render([Family("z", "gauge", "NaN.", (({}, math.nan),))]).endswith("z NaN\n")
