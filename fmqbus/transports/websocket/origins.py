"""Which pages of the web may connect? (RFC 6455, sections 4.2.2 and 10.2)

A browser connects for whatever page is open in it, also to a bus on its own machine or behind its firewall, and says in
the header ``Origin`` where the page is from. What is no browser sends none, and is judged by the rules of access alone.

A page that this very listener serves is let in if it was asked for by address or as ``localhost``. By any other name a
page could come from elsewhere: whoever owns a name can make it point to this machine (DNS rebinding), and origin and
host are then equal. So names have to be listed.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

#: Stands for all origins.
ANY = "*"

_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_welcome(origin: str | None, host: str, listed: Collection[str]) -> bool:
    """Whether a page of this origin may connect, by a request for this host; None is no page."""
    if origin is None or ANY in listed or origin in listed:
        return True
    page = normalised(origin)
    if page is None:
        return False
    return page in map(normalised, listed) or _is_served_here(page, host.lower())


def normalised(origin: str) -> str | None:
    """The one way of writing an origin; None if it is none."""
    try:
        parts = urlsplit(origin.lower())
        port = parts.port
    except ValueError:
        return None
    others = (parts.username, parts.password, parts.path, parts.query, parts.fragment)
    if not (parts.scheme and parts.hostname) or any(others) or "*" in origin:
        return None
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    suffix = "" if port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{port}"
    return f"{parts.scheme}://{name}{suffix}"


def _is_served_here(page: str, host: str) -> bool:
    scheme, _, _ = page.partition("://")
    return scheme in _DEFAULT_PORTS and page == normalised(f"{scheme}://{host}") and _is_no_name(page)


def _is_no_name(page: str) -> bool:
    hostname = urlsplit(page).hostname or ""
    if hostname == "localhost" or hostname.endswith(".localhost"):
        return True
    try:
        ip_address(hostname)
    except ValueError:
        return False
    return True
