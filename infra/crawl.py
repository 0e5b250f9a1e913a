"""Every kind of page of a site: one page for each form of address that links lead to."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import Page

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NUMBER = re.compile(r"(?<=[/=])\d+(?=$|[/&])")
_VALUE = re.compile(r"=[^&]*")


def form_of(address: str) -> str:
    """Return an address without what distinguishes pages of one kind."""
    parts = urlsplit(address)
    path = _NUMBER.sub("N", _UUID.sub("ID", parts.path))
    path = re.sub(r"/profile/[a-z_]+", "/profile/TARGET", path)
    return path + ("?" + _VALUE.sub("", parts.query) if parts.query else "")


def crawl(page: Page, base: str, first: str = "/") -> list[str]:
    """Return an address of each form, in the order in which links lead to them."""
    forms, queue, pages = {form_of(first)}, [first], []
    while queue:
        address = queue.pop(0)
        answer = page.request.get(base + address)
        if "text/html" not in answer.headers.get("content-type", ""):
            continue
        pages.append(address)
        for href in re.findall(r'href="(/[^"#]*)', answer.text()):
            link = href.replace("&amp;", "&")
            if not link.startswith(("//", "/static/")) and form_of(link) not in forms:
                forms.add(form_of(link))
                queue.append(link)
    return pages
