"""URLs, audiences and the allow-list."""

import pytest

from innkeeper.edge.identity.allow_list import AllowList
from innkeeper.edge.identity.urls import audience_for, endpoint_url, url_from_text


@pytest.mark.parametrize(
    ("endpoint", "audience"),
    [
        ("HTTPS://Host:443/a2a", "https://host/a2a"),
        ("http://h:80/a2a", "http://h/a2a"),
        ("http://h:8080/a2a", "http://h:8080/a2a"),
        ("https://h", "https://h/"),
        ("https://h/a2a/", "https://h/a2a/"),
        ("https://h/x/../a2a", "https://h/a2a"),
        ("https://h/x/.%2E/./a2a/.", "https://h/a2a/"),
        ("https://h/../..", "https://h/"),
        ("https://h/A2A?q=1#f", "https://h/A2A"),
        ("https://h?q", "https://h/"),
        ("https://h:/a2a", "https://h/a2a"),
        ("https://h:00443/a2a", "https://h/a2a"),
        ("http://h:443/a2a", "http://h:443/a2a"),
        ("https://[0:0::1]:443/", "https://[::1]/"),
        ("https://h./a2a", "https://h./a2a"),
    ],
)
def test_an_audience_is_the_endpoint_as_a_browser_writes_it_without_query(endpoint, audience):
    assert audience_for(endpoint) == audience
    assert audience_for(audience) == audience


@pytest.mark.parametrize(
    "url",
    [
        "", "/a2a", "h/a2a", "ftp://h/a2a", "https://", "https:///a2a", "https://u@h/", "https://u:p@h/", "https://h:x/",
        "https://h:65536/", "https://h\\@evil/", "https://h /", " https://h/", "https://h/\n", "https://\uff48/", "https://h%2e/",
        "https://0x7f.1/", "https://127.1/", "https://256.0.0.1/", "https://010.0.0.1/", "https://[::g]/", "https://./",
        "https:h/a2a", "https:/h/a2a", "file:///etc/passwd", "https://[::1",
    ],
)  # fmt: skip
def test_what_parsers_disagree_about_is_no_url(url):
    with pytest.raises(ValueError, match=r"."):
        url_from_text(url)


@pytest.mark.parametrize("origin", ["https://h", "https://h/", "http://h:8080//"])
@pytest.mark.parametrize("path", ["/a2a", "a2a"])
def test_an_endpoint_that_the_host_works_out_is_its_own_audience(origin, path):
    endpoint = endpoint_url(origin, path)
    assert endpoint.endswith("/a2a")
    assert audience_for(endpoint) == endpoint


@pytest.mark.parametrize("entry", ["http://gw.example", "gw.example", " https://GW.example:443/ "])
def test_an_entry_of_the_allow_list_means_https(entry):
    assert AllowList([entry]).origins == {"https://gw.example"}


def test_http_is_meant_on_loopback_only_and_only_where_it_is_allowed():
    entries = ["http://127.0.0.1:9", "http://gw.example", "[::1]:9"]
    assert AllowList(entries).origins == {"https://127.0.0.1:9", "https://gw.example", "https://[::1]:9"}
    allowed = AllowList(entries, loopback_http=True)
    assert allowed.origins == {"http://127.0.0.1:9", "https://gw.example", "https://[::1]:9"}


@pytest.mark.parametrize(
    "entries", [[], [""], ["  "], ["https://"], ["https://a/b"], ["ftp://a"], ["a", "https://u@b"], ["*.example"]]
)
def test_an_allow_list_of_nothing_or_of_what_is_no_origin_is_refused(entries):
    with pytest.raises(ValueError, match=r"."):
        AllowList(entries)
