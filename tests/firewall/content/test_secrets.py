import base64
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.access.tokens.token_format import mint
from nacre.core.token_prefixes import KINDS
from nacre.firewall.content.secrets import (
    _BASE64,
    _MAX_PLAIN,
    _PLAIN_TEXTS,
    BUILT_IN,
    RULES,
    Secret,
    _may_hold_a_run,
    find_secrets,
    looks_random,
    names_secret,
    redact_text,
)
from nacre.firewall.rules.sections import NamedPattern, SecretsSection
from tests.firewall.content.test_token_formats import FORMS

# Joined here, so that no scanner of repositories takes them for real ones.
HEX = "0123456789abcdef" * 4
MIXED = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d"
EXAMPLES = [
    ("private-key", "-----BEGIN EC " + "PRIVATE KEY-----\nMHcC\n-----END EC " + "PRIVATE KEY-----"),
    ("aws-access-key", "ASIA" + "ABCDEFGHIJKLMNOP"),
    ("aws-secret-key", "aws_secret_access_key = " + MIXED),
    ("github-token", "gho_" + MIXED[:36]),
    ("gitlab-token", "glpat-" + MIXED[:20]),
    ("slack-token", "xoxb-" + "123456789012-" + MIXED[:24]),
    ("slack-webhook", "https://hooks.slack.com/services/" + "T0000/B0000/" + MIXED[:24]),
    ("stripe-key", "sk_" + "live_" + MIXED[:24]),
    ("anthropic-key", "sk-ant-" + "api03-" + MIXED),
    ("openai-key", "sk-" + "proj-" + MIXED),
    ("google-key", "AIza" + MIXED[:35]),
    ("npm-token", "npm_" + MIXED[:36]),
    ("pypi-token", "pypi-" + "AgEIcHlwaS5vcmc" + MIXED + MIXED),
    ("huggingface-token", "hf_" + MIXED[:34]),
    ("sendgrid-key", "SG." + MIXED[:22] + "." + MIXED),
    ("digitalocean-token", "dop_v1_" + HEX),
    ("telegram-token", "123456789:" + "AA" + MIXED[:33]),
    ("vault-token", "hvs." + MIXED),
    ("age-key", "AGE-SECRET-KEY-1" + ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2)[:58]),
    *(("nacre-token", f"{kind}_{HEX}") for kind in KINDS),
    ("json-web-token", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + MIXED),
    ("azure-key", "AccountKey=" + MIXED + MIXED + "=="),
    ("url-password", "redis://default:" + "s3cr3t-w0rd" + "@cache:6379/0"),
    ("authorization", "authorization: bearer " + MIXED),
    ("named-secret", 'db_password: "' + "kT9!mQ2#vL" + '"'),
]
HARMLESS = [
    "The password is stored in the vault; see the token documentation.",
    "password: ${DB_PASSWORD}",
    "export API_KEY=$OTHER_KEY",
    "api_key = os.environ['API_KEY']",
    "token: <your-token-here>",
    "nextPageToken: CAUQAA9x7Bq2",
    "max_tokens: 4096000000",
    "Authorization: Bearer <token>",
    "https://user@example.com/path:8080@x",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "550e8400-e29b-41d4-a716-446655440000",
    "sk-learn-is-a-library-for-machine-learning-people",
    "secret: ********",
    "password=[redacted: named-secret]",
]


@pytest.mark.parametrize(("rule", "text"), EXAMPLES)
def test_a_form_is_known_wherever_it_stands(rule: str, text: str) -> None:
    clean, count = redact_text(f"before {text} after", BUILT_IN)
    assert count == 1
    assert f"[redacted: {rule}]" in clean
    assert clean.startswith("before ")
    assert clean.endswith(" after")


def test_every_rule_has_an_example() -> None:
    assert {rule for rule, _ in EXAMPLES} | set(FORMS) == {rule.id for rule in RULES}


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_alike_is_kept(text: str) -> None:
    assert redact_text(text, BUILT_IN) == (text, 0)


def test_only_the_secret_part_is_taken() -> None:
    assert redact_text("postgres://me:" + "hunter2hunter2" + "@db/app", BUILT_IN) == (
        "postgres://me:[redacted: url-password]@db/app",
        1,
    )


def test_invisible_characters_and_base64_do_not_hide_a_token() -> None:
    token = "ghp_" + MIXED[:36]
    assert redact_text("a " + "\u200b".join(token) + " b", BUILT_IN)[0] == (
        "a [redacted: github-token] b"
    )
    run = base64.b64encode(f"key {token}".encode()).decode()
    assert redact_text(f"a {run} b", BUILT_IN)[0] == "a [redacted: encoded] b"


def test_places_are_those_of_the_text_as_given() -> None:
    token = "ghp_" + MIXED[:36]
    assert find_secrets(f"é {token}", BUILT_IN) == (Secret("github-token", 2, 2 + len(token)),)


def test_rules_can_be_left_out_and_added() -> None:
    token = "ghp_" + MIXED[:36]
    assert find_secrets(token, SecretsSection(without=("github-token",))) == ()
    assert find_secrets(token, SecretsSection(action="off")) == ()
    badges = SecretsSection(builtin=False, patterns=(NamedPattern("badge", r"BADGE-\d{6}"),))
    assert redact_text(f"{token} BADGE-123456", badges) == (f"{token} [redacted: badge]", 1)


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "api-key", "Authorization", "cookie"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize("name", ["path", "keyboard", "next_token", "monkey", "tokens_used"])
def test_other_names_are_not(name: str) -> None:
    assert not names_secret(name)


def test_words_are_not_random() -> None:
    assert not looks_random("documentation")
    assert not looks_random("/etc/hosts1")
    assert looks_random("kT9!mQ2#vL")


@given(st.text(), st.sampled_from([text for _, text in EXAMPLES]), st.text())
def test_redacting_twice_changes_nothing(before: str, secret: str, after: str) -> None:
    clean, _ = redact_text(f"{before} {secret} {after}", BUILT_IN)
    assert redact_text(clean, BUILT_IN) == (clean, 0)


@given(st.text())
def test_no_text_breaks_the_search_and_places_are_apart(text: str) -> None:
    end = 0
    for secret in find_secrets(text, BUILT_IN):
        assert end <= secret.start < secret.end <= len(text)
        end = secret.end


@given(st.text(st.sampled_from("aZ9+/_-= .é\n"), max_size=80))
def test_no_run_of_base64_is_overlooked(text: str) -> None:
    if re.search(_BASE64, text):
        assert _may_hold_a_run(text)


@pytest.mark.parametrize(("rule", "text"), EXAMPLES)
def test_a_secret_is_found_each_time_and_not_remembered(rule: str, text: str) -> None:
    first, second = find_secrets(text, BUILT_IN), find_secrets(text, BUILT_IN)

    assert first == second
    assert rule in {secret.rule for secret in first}
    assert text not in _PLAIN_TEXTS


def test_short_words_are_looked_at_once() -> None:
    assert find_secrets("an ordinary word", BUILT_IN) == ()
    assert "an ordinary word" in _PLAIN_TEXTS
    assert len(_PLAIN_TEXTS) <= _MAX_PLAIN


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["{}", "q{}", "id-{}", "http://127.0.0.1:8642/sign-in#{}"])
def test_every_secret_that_the_product_makes_is_found(kind: str, text: str) -> None:
    token = mint(kind, Random(1))

    assert redact_text(text.format(token), BUILT_IN)[0] == text.format("[redacted: nacre-token]")
