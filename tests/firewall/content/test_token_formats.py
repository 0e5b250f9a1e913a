"""Forms of tokens: generated examples of the least length, and what is one character short."""

import random
import re
import string
from collections.abc import Iterator

import pytest

from nacre.firewall.content.redaction import redact
from nacre.firewall.content.secrets import BUILT_IN, find_secrets, redact_text
from nacre.firewall.rules.sections import SecretsSection

# `<a52>` stands for 52 letters and digits, x for hexadecimal, A for capitals and digits,
# l for small letters and digits, d for digits, w for letters, digits, - and _.
FORMS = {
    "airtable-token": ["pat<a14>.<x64>"],
    "alibaba-key": ["LTAI<a17>"],
    "anyscale-key": ["esecret_<a24>"],
    "apify-token": ["apify_api_<a36>"],
    "asana-token": ["1/<d16>:<x32>", "2/<d16>/<d16>:<x32>"],
    "atlassian-token": ["ATATT3<a60>", "ATCTT3<a60>", "ATBB<a32>"],
    "azure-client-secret": ["a~B8Q~<a31>"],
    "brevo-key": ["xkeysib-<x64>-<a16>", "xsmtpsib-<x64>-<a16>"],
    "buildkite-token": ["bkua_<x40>"],
    "cerebras-key": ["csk-<l48>"],
    "circleci-token": ["CCIPAT_<a22>_<x40>"],
    "clojars-token": ["CLOJARS_<l60>"],
    "cloudflare-key": ["v1.0-<x24>-<x146>"],
    "contentful-token": ["CFPAT-<a43>"],
    "context7-key": ["ctx7sk-<x8>-<x4>-<x4>-<x4>-<x12>"],
    "crates-token": ["cio<a32>"],
    "cursor-key": ["key_<x64>"],
    "databricks-token": ["dapi<x32>"],
    "deno-token": ["ddp_<a36>"],
    "discord-token": ["MTk4<a20>.<a6>.<a27>", "N<a23>.<a6>.<a27>"],
    "discord-webhook": ["https://discord.com/api/webhooks/<d18>/<a60>"],
    "docker-token": ["dckr_pat_<a27>", "dckr_oat_<a27>"],
    "doppler-token": ["dp.pt.<a40>", "dp.st.dev_one.<a40>"],
    "dropbox-token": ["sl.<a130>"],
    "duffel-token": ["duffel_live_<a43>"],
    "dynatrace-token": ["dt0c01.<A24>.<A64>"],
    "e2b-key": ["e2b_<x40>"],
    "easypost-key": ["EZAK<a54>"],
    "elevenlabs-key": ["sk_<x48>"],
    "facebook-token": ["EAAC<a100>"],
    "figma-token": ["figd_<a38>"],
    "firecrawl-key": ["fc-<x32>"],
    "flutterwave-key": ["FLWSECK_TEST-<a12>-X", "FLWSECK-<a32>-X"],
    "fly-token": ["fo1_<a43>", "fm2_<a100>"],
    "frameio-token": ["fio-u-<a64>"],
    "grafana-token": ["glsa_<a32>_<x8>", "glc_<a32>"],
    "groq-key": ["gsk_<a52>"],
    "harness-token": ["pat.<a22>.<x24>.<a20>"],
    "heroku-key": ["HRKU-<a36>"],
    "hubspot-token": ["pat-eu1-<x8>-<x4>-<x4>-<x4>-<x12>"],
    "infracost-key": ["ico-<a32>"],
    "jfrog-key": ["AKCp<a69>"],
    "jina-key": ["jina_<a60>"],
    "langsmith-key": ["lsv2_pt_<x32>_<x10>"],
    "launchdarkly-key": ["sdk-<x8>-<x4>-<x4>-<x4>-<x12>"],
    "linear-key": ["lin_api_<a40>", "lin_oauth_<x64>"],
    "mailchimp-key": ["<x32>-us1"],
    "mailgun-key": ["key-<x32>"],
    "mapbox-token": ["sk.eyJ<a40>.<a22>"],
    "neon-key": ["napi_<l64>"],
    "netlify-token": ["nfp_<a36>"],
    "new-relic-key": ["NRAK-<A27>", "NRJS-<x19>"],
    "notion-token": ["ntn_<d11><a35>", "secret_<a43>"],
    "nvidia-key": ["nvapi-<a60>"],
    "nylas-key": ["nyk_v0_<a64>"],
    "one-password-token": ["ops_eyJ<a200>", "A3-<A6>-<A11>-<A5>-<A5>-<A5>"],
    "openshift-token": ["sha256~<a43>"],
    "perplexity-key": ["pplx-<a48>"],
    "pinecone-key": ["pcsk_<a6>_<a50>"],
    "plaid-token": ["access-production-<x8>-<x4>-<x4>-<x4>-<x12>"],
    "planetscale-token": ["pscale_tkn_<a32>", "pscale_pw_<a32>"],
    "posthog-key": ["phx_<a43>"],
    "postman-key": ["PMAK-<x24>-<x34>"],
    "prefect-key": ["pnu_<a36>"],
    "pulumi-token": ["pul-<x40>"],
    "readme-key": ["rdme_<l70>"],
    "replicate-token": ["r8_<a37>"],
    "resend-key": ["re_<a8>_<a24>"],
    "rubygems-key": ["rubygems_<x48>"],
    "scalingo-token": ["tk-us-<a48>"],
    "sentry-token": ["sntryu_<x64>", "sntrys_eyJ<a40>_<a43>"],
    "shippo-token": ["shippo_live_<x40>"],
    "shopify-token": ["shpat_<x32>", "shpss_<x32>", "shpca_<x32>", "shppa_<x32>"],
    "sonar-token": ["squ_<x40>"],
    "sourcegraph-token": ["sgp_<x16>_<x40>", "sgp_local_<x40>", "sgp_<x40>"],
    "square-token": ["sq0atp-<a22>", "EAAA<a60>"],
    "stripe-webhook-secret": ["whsec_<a32>"],
    "supabase-key": ["sbp_<x40>", "sb_secret_<a31>"],
    "tailscale-key": ["tskey-auth-<a12>-<a20>"],
    "tavily-key": ["tvly-<a32>"],
    "terraform-token": ["<a14>.atlasv1.<a60>"],
    "together-key": ["tgp_v1_<a43>"],
    "twilio-key": ["SK<x32>", "AC<x32>:<x32>"],
    "typeform-token": ["tfp_<a59>"],
    "vercel-token": ["vercel_blob_rw_<a16>_<a30>"],
    "xai-key": ["xai-<a70>"],
    "yandex-key": ["AQVN<a35>"],
}
ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "x": "0123456789abcdef",
    "A": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "d": string.digits,
}
CASES = [(rule, form) for rule, forms in FORMS.items() for form in forms]
PAYMENTS = SecretsSection(cards=True, ibans=True)
# Numbers that networks and the registry of IBANs publish as examples.
CARDS = [
    "4111 1111 1111 1111",
    "4242424242424242",
    "5555-5555-5555-4444",
    "2223 0031 2200 3222",
    "378282246310005",
    "3782 822463 10005",
    "6011000990139424",
    "3530111333300000",
    "30569309025904",
]
NO_CARDS = [
    "4111 1111 1111 1112",
    "1700000000000",
    "0000 0000 0000 0000",
    "order 4242 of 4242 4242",
    "4111-1111 1111-1111",
    "ISBN 978-3-16-148410-0",
    "4.111111111111111",
    "x4242424242424242",
]
IBANS = [
    "DE89 3704 0044 0532 0130 00",
    "GB29NWBK60161331926819",
    "FR1420041010050500013M02606",
    "NO93 8601 1117 947",
    "MT84MALT011000012345MTLCAST001S",
]
NO_IBANS = [
    "DE89 3704 0044 0532 0130 01",
    "GB29NWBK6016133192681",
    "ZZ89370400440532013000",
    "SHA256 DEADBEEF0000000000000000",
    "NO93 8601 1117 948",
]


def filled(form: str, seed: int) -> str:
    """Return a token of a form; it always holds a digit and both cases where they may be."""
    chance = random.Random(f"{form}{seed}")

    def run(match: re.Match[str]) -> str:
        return "".join(chance.choices(ALPHABETS[match[1]], k=int(match[2])))

    return re.sub(r"<(\w)(\d+)>", run, form)


def tokens_of(form: str) -> Iterator[str]:
    return (filled(form, seed) for seed in range(20))


@pytest.mark.parametrize(("rule", "form"), CASES)
def test_a_token_is_found_alone_and_in_a_sentence(rule: str, form: str) -> None:
    for token in tokens_of(form):
        for text in (token, f'The key is "{token}", keep it.', f"KEY={token}\n"):
            clean, count = redact_text(text, BUILT_IN)
            assert count == 1, text
            assert token[-20:] not in clean


@pytest.mark.parametrize(("rule", "form"), CASES)
def test_a_rule_names_what_it_found(rule: str, form: str) -> None:
    assert {
        secret.rule for token in tokens_of(form) for secret in find_secrets(token, BUILT_IN)
    } == {rule}


@pytest.mark.parametrize(("rule", "form"), CASES)
def test_a_token_that_is_too_short_is_kept(rule: str, form: str) -> None:
    for token in tokens_of(form):
        assert rule not in {secret.rule for secret in find_secrets(token[:-2], BUILT_IN)}


def test_hashes_identifiers_and_files_are_kept() -> None:
    chance = random.Random(29)

    def hexadecimal(size: int) -> str:
        return "".join(chance.choices("0123456789abcdef", k=size))

    def base64_of(size: int) -> str:
        return "".join(chance.choices(ALPHABETS["a"] + "+/", k=size))

    texts = [hexadecimal(size) for size in (7, 32, 40, 64, 128) for _ in range(60)]
    texts += ["-".join(hexadecimal(size) for size in (8, 4, 4, 4, 12)) for _ in range(60)]
    texts += [f'"integrity": "sha512-{base64_of(86)}=="' for _ in range(120)]
    texts += [f"data:image/png;base64,iVBORw0KGgo{base64_of(600)}" for _ in range(60)]
    texts += [f"sha256:{hexadecimal(64)}  python-3.11.tar.gz" for _ in range(60)]
    texts += [f"/nix/store/{hexadecimal(32)}-glibc-2.38/lib" for _ in range(20)]
    texts += ["key-value", "pat-a-cake", "patient records", "secret_santa_2031", "SKU-12345"]
    assert [text for text in texts if find_secrets(text, BUILT_IN)] == []


@pytest.mark.parametrize("card", CARDS)
def test_cards_are_taken_out_when_the_policy_says_so(card: str) -> None:
    text = f"Pay with {card}, please."
    assert redact_text(text, PAYMENTS) == ("Pay with [redacted: card-number], please.", 1)
    assert redact_text(text, BUILT_IN) == (text, 0)


@pytest.mark.parametrize("number", NO_CARDS)
def test_other_numbers_are_no_cards(number: str) -> None:
    assert find_secrets(number, PAYMENTS) == ()


@pytest.mark.parametrize("iban", IBANS)
def test_bank_accounts_are_taken_out_when_the_policy_says_so(iban: str) -> None:
    text = f"Account {iban} (main)"
    assert redact_text(text, PAYMENTS) == ("Account [redacted: iban] (main)", 1)
    assert redact_text(text, BUILT_IN) == (text, 0)


@pytest.mark.parametrize("number", NO_IBANS)
def test_other_codes_are_no_bank_accounts(number: str) -> None:
    assert find_secrets(number, PAYMENTS) == ()


def test_every_digit_of_a_card_counts() -> None:
    for place in range(16):
        number = list("4111111111111111")
        number[place] = str((int(number[place]) + 1) % 10)
        assert find_secrets("".join(number), PAYMENTS) == ()


def test_a_short_card_number_is_not_taken_for_plain_text_that_was_seen_before() -> None:
    result = {"content": [{"type": "text", "text": CARDS[1]}]}
    assert redact(result, BUILT_IN).count == 0
    assert redact(result, PAYMENTS).count == 1
    assert redact(result, BUILT_IN).count == 0
