"""Addresses of Redis: what is read from them, and what is refused without showing a password."""

from __future__ import annotations

import pytest

from featuredsl.errors import InputError
from featuredsl.online.address import Address, parse_address


def test_one_server() -> None:
    assert parse_address("redis://h") == Address("redis://h", (("h", 6379),))
    assert parse_address("redis://h:1/3") == Address("redis://h:1/3", (("h", 1),), db=3)
    assert parse_address("redis://h/?db=2").db == 2
    assert parse_address("redis://[::1]:7/0").nodes == (("::1", 7),)
    assert parse_address("unix:///run/redis.sock?db=1") == Address(
        "unix:///run/redis.sock?db=1", (("/run/redis.sock", 0),), db=1
    )


def test_users_are_unescaped_and_never_shown() -> None:
    found = parse_address("rediss://us%40er:p%3Aa%2Fss@h:1/2")
    assert (found.user, found.password, found.tls, found.nodes) == ("us@er", "p:a/ss", True, (("h", 1),))
    assert found.text == "rediss://h:1/2"
    assert found.greeting == [("AUTH", "us@er", "p:a/ss"), ("SELECT", "2")]
    assert "p:a" not in repr(found)
    assert parse_address("redis://:secret@h").greeting == [("AUTH", "secret")]


def test_clusters() -> None:
    found = parse_address("redis+cluster://u:p@h1:1,h2,[::1]:3")
    assert (found.cluster, found.tls, found.nodes) == (True, False, (("h1", 1), ("h2", 6379), ("::1", 3)))
    secure = parse_address("rediss+cluster://h1:1,h2:2?ssl_ca_certs=/a.pem")
    assert (secure.tls, secure.files) == (True, (("ssl_ca_certs", "/a.pem"),))


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("h:6379", ["'h:6379' is not a Redis address", "redis://, rediss://", "write it as redis://host:port"]),
        ("http://h", ["'http://h' is not a Redis address"]),
        ("redis://", ["a host is missing"]),
        ("redis://u:secret@h:99999", ["'redis://h:99999' is not a Redis address"]),
        ("redis://h:1/x", ["'x' is no database number"]),
        ("redis://u:secret@h1:1,h2:2", ["several hosts need redis+cluster://"]),
        ("redis+cluster://h:1/2", ["a cluster has only database 0"]),
        ("redis://h?ssl_ca_certs=/a", ["ssl_ca_certs needs rediss://"]),
        ("rediss://h?ssl_keyfile=/a", ["ssl_keyfile needs ssl_certfile"]),
        ("rediss://h?ssl_ca_cert=/a", ["option 'ssl_ca_cert' is not in 'the Redis address'", "'ssl_ca_certs'?"]),
    ],
)
def test_other_texts_are_refused(url: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_address(url)
    assert [part for part in parts if part not in str(caught.value)] == []
    assert "secret" not in str(caught.value)


def test_files_that_cannot_be_used_are_named() -> None:
    with pytest.raises(InputError, match=r"the TLS files cannot be used .*ssl_ca_certs=/nowhere\.pem"):
        parse_address("rediss://u:secret@h?ssl_ca_certs=/nowhere.pem").tls_context()
