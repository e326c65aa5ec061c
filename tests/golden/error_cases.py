"""Bad definitions by name: what an author may get wrong. Their texts stand in `errors/*.txt`."""

from __future__ import annotations

HEAD = """\
from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, if_else, on_demand, ratio, when, window

clicks = EventSource("clicks", event_time="ts", schema={"user": str, "item": str, "price": float, "n": int, "ok": bool})
views = EventSource("views", event_time="ts", schema={"user": str, "item": str})

"""
COUNT = """
    @feature(freshness="realtime", window="1h")
    def count(e: clicks) -> int:
        return e.count()
"""


def group(body: str, *, entity: str = '"user"', name: str = "g", more: str = "") -> str:
    """A file with one group."""
    return f'{HEAD}\n@feature_group(name="{name}", entity={entity}{more})\nclass G:\n{body.strip(chr(10))}\n'


def one(
    value: str, returns: str = "int", *, options: str = 'window="1h"', sources: str = "e: clicks", name: str = "f"
) -> str:
    """A file with one feature."""
    arrow = f" -> {returns}" if returns else ""
    options = f"{options}, " if options else ""
    return group(f'    @feature({options}freshness="realtime")\n    def {name}({sources}){arrow}:\n        {value}\n')


def code(function: str, head: str = "", inputs: str = '"count"', request: str = "") -> str:
    """A file with one on-demand function."""
    given = f", request={request}" if request else ""
    lines = "\n".join(f"    {line}" if line else "" for line in function.strip().splitlines())
    made = group(f"{COUNT}\n    @on_demand(inputs=[{inputs}]{given})\n{lines}\n")
    return made.replace(HEAD, HEAD + head)


def source(arguments: str) -> str:
    """A file with one event source."""
    return f"from featuredsl import EventSource\n\nbad = EventSource(\n    {arguments}\n)\n"


COLUMNS = {
    "wrong column": one("return e.prise.sum()", "float"),
    "wrong column in a filter": one('return e.filter(e.itm == "a").count()'),
    "wrong column of the latest row": one("return e.latest().itme", "str", options='ttl="1d"'),
    "wrong column in a helper": HEAD
    + "\ndef total(e):\n    return e.prize.sum()\n"
    + one("return total(e)")[len(HEAD) :],
    "text compared with a number": one("return e.filter(e.item == 3).count()"),
    "number compared with a text": one('return e.filter(e.price > "3").count()'),
    "sum of texts": one("return e.item.sum()", "str"),
    "mean of booleans": one("return e.ok.mean()", "float"),
    "text plus number": one("return (e.item + e.n).max()"),
    "unknown operation": one("return e.price.summ()", "float"),
    "an operation that does not exist on purpose": one('return e.filter(e.item.like("a%")).count()'),
    "and instead of &": one("return e.filter(e.n > 1 and e.price > 2).count()"),
    "in instead of is_in": one('return e.filter(e.item in ["a"]).count()'),
    "len of a column": one("return e.filter(len(e.item) > 1).count()"),
    "part of a text by brackets": one('return e.filter(e.item[:2] == "ab").count()'),
    "a function of math": one("return math.sqrt(e.price).sum()", "float").replace(
        "import annotations", "import annotations\n\nimport math", 1
    ),
    "round of Python": one("return round(e.price).sum()", "float"),
    "a column in a text": one('return e.filter(e.item == f"{e.n}").count()'),
    "a loop over a column": one("return sum(x for x in e.n)"),
    "a number of numpy's": one("return np.log(e.price).sum()", "float").replace(
        "import annotations", "import annotations\n\nimport numpy as np", 1
    ),
    "an aggregate as a text": one("return str(e.count())", "str"),
    "a column of an aggregate": one("return e.count().price", "float"),
    "a method of an aggregate": one("return e.n.sum().mean()", "float"),
    "a latest value as a text": one("return str(e.latest().item)", "str", options='ttl="1d"'),
    "a method of a latest value": one("return e.latest().item.lower()", "str", options='ttl="1d"'),
    "len of the events": one("return len(e)"),
    "a loop over the events": one("return sum(x.price for x in e)", "float"),
    "in of the events": one('return e.filter("item" in e).count()'),
    "a method with too many arguments": one("return e.n.sum(2)"),
    "an aggregate plus a number": one("return e.n.sum() + 1"),
    "an aggregate compared": one("return e.n.sum() > 1", "bool"),
    "an element of the latest value": one("return e.latest().item[0]", "str", options='ttl="1d"'),
    "two sources in one expression": one("return e.filter(e.item == v.item).count()", sources="e: clicks, v: views"),
    "filter with a number": one("return e.filter(e.n).count()"),
    "filter with a Python value": one("return e.filter(True).count()"),
    "None compared": one("return e.filter(e.item == None).count()"),
    "a constant beyond 64 bits": one("return e.filter(e.n > 2**63).count()"),
    "clip with bounds out of order": one("return e.price.clip(2.0, 1.0).sum()", "float"),
    "when without a condition": one('return when(1).then("a").otherwise("b").latest()', "str"),
    "latest of an expression": one("return (e.n + 1).latest()", options=""),
    "ratio with a number": one("return e.count() / 2", "float"),
}
DECLARATIONS = {
    "feature without brackets": group("    @feature\n    def f(e: clicks) -> int:\n        return e.count()\n"),
    "feature without freshness": group(COUNT.replace('freshness="realtime", ', "")),
    "on_demand without brackets": group(
        f"{COUNT}\n    @on_demand\n    def f(count: int) -> int:\n        return count\n"
    ),
    "group without brackets": f"{HEAD}\n@feature_group\nclass G:\n{COUNT}",
    "the source itself": one("return clicks.count()"),
    "declared int but gives float": one("return e.price.sum()"),
    "no return type": one("return e.count()", ""),
    "unknown return type": one("return e.count()", "dict"),
    "returns a column": one("return e.price", "float"),
    "returns the events": one("return e.filter(e.ok)"),
    "returns a row": one("return e.latest()", "str", options='ttl="1d"'),
    "returns nothing": one("e.count()"),
    "returns a method": one("return e.count"),
    "returns a number": one("return 3"),
    "an exception in the method": one("return e.count() + undefined"),
    "no source": group('    @feature(freshness="realtime", window="1h")\n    def f() -> int:\n        return 1\n'),
    "a parameter that is no source": one("return e.count()", sources="e: int"),
    "a misspelt source": one("return e.count()", sources="e: click"),
    "no annotation": one("return e.count()", sources="e"),
    "a feature that hides a source": group(
        COUNT.replace("def count", "def clicks") + COUNT.replace("def count", "def more")
    ).replace("from __future__ import annotations\n", ""),
    "unknown tier": one("return e.count()").replace('"realtime"', '"realtme"'),
    "aggregate without window": one("return e.count()", options=""),
    "lookup with window": one("return e.latest().item", "str"),
    "ttl on a window feature": one("return e.count()", options='window="1h", ttl="1d"'),
    "negative ttl": one("return e.latest().item", "str", options='ttl="-1d"'),
    "ttl of the wrong unit": one("return e.latest().item", "str", options="ttl=3600"),
    "ttl that is no duration": one("return e.latest().item", "str", options='ttl="one day"'),
    "default of another type": one("return e.price.mean()", "float", options='window="1h", default="none"'),
    "default that is no number": one("return e.price.sum()", "float", options='window="1h", default=float("nan")'),
    "tags as one text": one("return e.count()", options='window="1h", tags="pii"'),
    "duplicate feature": group(COUNT + COUNT),
    "collision by suffix": group(
        COUNT.replace("count(e", "n_1h(e") + COUNT.replace('"1h"', '["1h", "2h"]').replace("count(e", "n(e")
    ),
    "two underscores in a name": one("return e.count()", name="n__1h"),
    "a name that starts with an underscore": one("return e.count()", name="_n"),
    "a group name that is no name": group(COUNT, name="user-clicks"),
    "missing entity column": group(COUNT, entity='"usr"'),
    "entity column missing in one source": group(
        COUNT.replace("e: clicks) -> int", "e: clicks, v: views) -> float").replace(
            "e.count()", "ratio(e.count(), v.count())"
        ),
        entity='("user", "n")',
    ),
    "float entity": group(COUNT, entity='"price"'),
    "no entity": group(COUNT, entity="()"),
    "a group without a feature": group('    """Nothing."""'),
    "negative retention": group(COUNT, more=', retention="-1d"'),
    "unknown option of a feature": one("return e.count()", options='windows="1h"'),
    "three errors in two groups": HEAD
    + '\n@feature_group(name="a", entity="usr")\nclass A:\n'
    + COUNT.strip("\n")
    + '\n\n\n@feature_group(name="b", entity="user")\nclass B:\n'
    + COUNT.replace("e.count()", "e.n.mean()").strip("\n")
    + "\n"
    + COUNT.replace("count(e: clicks)", "spend(e: clicks)").replace("e.count()", "e.prize.sum()"),
}
WINDOWS = {
    "hop that does not divide": one("return e.count()", options='window=window("1h", hop="7m")'),
    "hop of zero": one("return e.count()", options='window=window("1h", hop=0)'),
    "window too short": one("return e.count()", options='window="5s"'),
    "window without a unit": one("return e.count()", options="window=3600"),
    "window that is no duration": one("return e.count()", options='window="an hour"'),
    "offset off the hop": one("return e.count()", options='window=window("1h", offset="7s")'),
    "window shorter than the tier": one("return e.count()").replace('"realtime"', '"1d"'),
}
ON_DEMAND = {
    "lambda": group(COUNT + "\n    double = on_demand(inputs=['count'])(lambda count: 2 * count)\n"),
    "unknown input": code("def f(cuont: int) -> int:\n    return cuont", inputs='"cuont"'),
    "parameters that do not match": code("def f(n: int) -> int:\n    return n"),
    "a parameter that nobody gives": code("def f(count: int, price: float) -> float:\n    return count * price"),
    "a parameter of another type": code("def f(count: str) -> int:\n    return len(count)"),
    "an input given twice": code("def f(count: int) -> int:\n    return count", request='{"count": int}'),
    "unknown request type": code(
        "def f(count: int, at: float) -> float:\n    return count * at", request='{"at": complex}'
    ),
    "no return type of a function": code("def f(count: int):\n    return count"),
    "inputs as one text": code("def f(count: int) -> int:\n    return count").replace('["count"]', '"count"'),
    "time": code("def f(count: int) -> float:\n    return time.time()", "import time\n"),
    "random": code("def f(count: int) -> float:\n    return count * random()", "from random import random\n"),
    "datetime.now": code(
        "def f(count: int) -> int:\n    return datetime.now().hour", "from datetime import datetime\n"
    ),
    "open": code('def f(count: int) -> int:\n    return len(open("x").read())'),
    "os.environ": code('def f(count: int) -> str:\n    return os.environ["HOME"]', "import os\n"),
    "import inside": code("def f(count: int) -> int:\n    import uuid\n    return uuid.uuid4().int"),
    "a file handle": code("def f(count: int) -> str:\n    return OUT.name", "OUT = open(__file__)\n"),
    "a lock": code(
        "def f(count: int) -> int:\n    with LOCK:\n        return count",
        "import threading\n\nLOCK = threading.Lock()\n",
    ),
    "a mutable global": code('def f(count: int) -> int:\n    return RATES["a"] * count', 'RATES = {"a": 1}\n'),
    "a class of its own": code("def f(count: int) -> int:\n    return Rate.x * count", "class Rate:\n    x = 2\n"),
    "a lambda that is called": code(
        "def f(count: int) -> int:\n    return double(count)", "double = lambda x: 2 * x\n"
    ),
    "time in a helper": code(
        "def f(count: int) -> float:\n    return age(count)",
        "from time import time\n\n\ndef age(x: int) -> float:\n    return time() - x\n",
    ),
    "a global that it sets": code("def f(count: int) -> int:\n    global SEEN\n    SEEN = count\n    return SEEN"),
    "another decorator": code(
        "@cached\ndef f(count: int) -> int:\n    return count", "from functools import cache as cached\n"
    ),
    "an unknown global": code("def f(count: int) -> int:\n    return count * FACTOR"),
    "a generator": code("def f(count: int) -> int:\n    yield count"),
}
SOURCES = {
    "empty schema": source('"s", event_time="ts", schema={}'),
    "unsupported column type": source('"s", event_time="ts", schema={"user": str, "tags": dict}'),
    "a schema that is no schema": source('"s", event_time="ts", schema=["user", "item"]'),
    "bad time unit": source('"s", event_time="ts", schema={"user": str}, time_unit="seconds"'),
    "sequence of a wrong type": source('"s", event_time="ts", schema={"user": str}, sequence="user"'),
    "pii of an unknown column": source('"s", event_time="ts", schema={"user": str, "email": str}, pii=("mail",)'),
    "unknown option of a source": source('"s", event_time="ts", schema={"user": str}, timeunit="s"'),
}
FILES = {
    "no group": HEAD,
    "syntax error": HEAD + "\nclass G\n    pass\n",
    "a module that does not exist": "import featuredls\n",
    "a name that featuredsl does not have": "from featuredsl import EventSorce\n",
    "a name that does not exist": HEAD + "\nprint(clikcs)\n",
    "an exception in the file": HEAD + "\nFACTOR = 1 / 0\n",
    "duplicate group": group(COUNT) + group(COUNT)[len(HEAD) :].replace("class G", "class H"),
}
CASES: dict[str, dict[str, str]] = {
    "columns": COLUMNS,
    "declarations": DECLARATIONS,
    "windows": WINDOWS,
    "on_demand": ON_DEMAND,
    "sources": SOURCES,
    "files": FILES,
}
"""Golden file to its cases; windows apart, for they change with the kinds of windows."""
