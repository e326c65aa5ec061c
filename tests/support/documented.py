"""What the documentation promises, read from it."""

from __future__ import annotations

import re

from tests.support.stack import ROOT


def acl_rules(user: str) -> list[str]:
    """The rules that docs/redis.md gives for a user of Redis."""
    text = (ROOT / "docs" / "redis.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^ACL SETUSER {user} (.*)$", text, re.MULTILINE)
    return str(line).split()
