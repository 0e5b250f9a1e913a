"""What a thief of the store, a reader of the logs, or a patient guesser learns."""

import re
import statistics
from time import perf_counter

import pytest

from nacre.access.tokens.token_format import kind_of
from nacre.core.token_prefixes import SCANNER_PATTERN
from tests.end_to_end.attacks.rows import attack
from tests.scaffolding.oauth import asking, code_for, exchange, register, renew, tokens_of
from tests.scaffolding.web_site import Browser, Site


@attack("X4")
@attack("X7")
def test_neither_the_store_nor_the_logs_hold_a_secret(place: Site) -> None:
    """After everything that can go right or wrong, and with secrets in every wrong place."""
    browser = Browser(place)
    link = place.link()
    browser.sign_in(link)
    Browser(place).sign_in(link)
    made = register(place, token_endpoint_auth_method="client_secret_post")
    secret = made["client_secret"]
    code = code_for(browser, made["client_id"])
    answer = exchange(place, made["client_id"], code, client_secret=secret)
    tokens = tokens_of(answer)
    newer = tokens_of(renew(place, made["client_id"], tokens.refresh, client_secret=secret))
    api = place.api_token()
    for token in (link, code, tokens.access, tokens.refresh, newer.access, api, secret):
        place.call(token)
        place.call(None, path=f"/mcp/{place.being}?token={token}")
        place.call(token, path=f"/mcp/{token}")
        browser.get(asking(place, token, state=token))
        browser.get(f"/sign-in?then=/{token}")
        browser.get(f"/{token}")
        place.post_form("/token", {"grant_type": token, "client_id": token, "code": token})
        place.post_form("/revoke", {"client_id": made["client_id"], "token": token})
        place.get(f"/.well-known/oauth-protected-resource/mcp/{token}")
    place.stop_store()
    browser.get("/account")
    stored, logged = place.dump(), place.log.getvalue()
    secrets = [link, code, secret, api, *browser.cookies.values()]
    secrets += [tokens.access, tokens.refresh, newer.access, newer.refresh]

    assert logged.count("\n") > 10
    for text in (stored, logged):
        assert [each for each in secrets if each in text] == []
        assert [each for each in re.findall(SCANNER_PATTERN, text) if kind_of(each)] == []


@attack("X3")
@pytest.mark.slow
def test_time_does_not_tell_how_close_a_guess_was(place: Site) -> None:
    """A token is looked up by its hash, so a near miss is as far away as any."""
    good = place.api_token()
    path = f"/mcp/{place.being}"
    near = [_renewed(good[:-7] + each) for each in "ABCDEFGHIJ"]
    far = [_renewed("brt_" + each * 43) for each in "ABCDEFGHIJ"]
    times: dict[str, list[float]] = {"near": [], "far": []}
    for _ in range(60):
        for name, tokens in (("near", near), ("far", far)):
            for token in tokens:
                start = perf_counter()
                assert place.call(token, path=path).status == 401
                times[name].append(perf_counter() - start)

    ratio = statistics.median(times["near"]) / statistics.median(times["far"])
    assert 0.75 < ratio < 1.25


def _renewed(body: str) -> str:
    """Return the token with a checksum that holds, so that it is looked up."""
    from nacre.access.tokens.token_format import _checksum

    token = body[:47] + _checksum(body[:47])
    assert kind_of(token) == "brt"
    return token
