import base64
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.content.redaction import Redacted, redact, redact_for_audit
from nacre.firewall.content.secrets import BUILT_IN
from nacre.firewall.rules.sections import SecretsSection

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
MARK = "[redacted: github-token]"


def test_a_result_keeps_its_shape() -> None:
    result = {
        "content": [
            {"type": "text", "text": f"token {TOKEN}"},
            {"type": "resource", "resource": {"uri": "a://b", "text": f"x={TOKEN}"}},
        ],
        "structuredContent": {"rows": [[1, TOKEN], [None, True]], "n": 1.5},
        "isError": False,
    }
    assert redact(result, BUILT_IN) == Redacted(
        {
            "content": [
                {"type": "text", "text": f"token {MARK}"},
                {"type": "resource", "resource": {"uri": "a://b", "text": f"x={MARK}"}},
            ],
            "structuredContent": {"rows": [[1, MARK], [None, True]], "n": 1.5},
            "isError": False,
        },
        3,
        ("github-token",),
    )


def test_a_value_without_secrets_is_the_same_object() -> None:
    value = {"content": [{"type": "text", "text": "hello"}], "n": [1, 2.5, None]}
    assert redact(value, BUILT_IN).value is value


def test_a_member_is_known_by_its_name() -> None:
    value = {"password": "kT9!mQ2#vL", "note": "kT9!mQ2#vL", "secret": "none"}
    assert redact(value, BUILT_IN).value == {
        "password": "[redacted: named-secret]",
        "note": "kT9!mQ2#vL",
        "secret": "none",
    }


def test_json_inside_text_stays_json() -> None:
    inner = json.dumps({"a": [TOKEN, {"password": "kT9!mQ2#vL"}], "n": 12})
    text = redact({"text": inner}, BUILT_IN).value["text"]
    assert json.loads(text) == {
        "a": [MARK, {"password": "[redacted: named-secret]"}],
        "n": 12,
    }


def test_escapes_in_json_inside_text_hide_nothing() -> None:
    inner = '{"a": "' + "".join(f"\\u{ord(char):04x}" for char in TOKEN) + '"}'
    assert json.loads(redact([inner], BUILT_IN).value[0]) == {"a": MARK}


def test_a_blob_stays_base64() -> None:
    blob = base64.b64encode(f"the key is {TOKEN}.".encode()).decode()
    clean = redact({"blob": blob, "mimeType": "text/plain"}, BUILT_IN).value["blob"]
    assert base64.b64decode(clean).decode() == f"the key is {MARK}."
    picture = {"data": base64.b64encode(bytes(range(256))).decode()}
    assert redact(picture, BUILT_IN).value is picture


def test_two_members_named_by_secrets_stay_two() -> None:
    second_token = TOKEN[:-1] + "Z"
    clean = redact({TOKEN: 1, second_token: 2}, BUILT_IN).value
    assert sorted(clean.values()) == [1, 2]
    assert TOKEN not in str(clean)
    assert second_token not in str(clean)


def test_nothing_is_redacted_when_the_policy_says_so() -> None:
    assert redact(TOKEN, SecretsSection(action="off")) == Redacted(TOKEN, 0, ())


def test_the_audit_holds_nothing_under_the_name_of_a_secret() -> None:
    assert redact_for_audit({"password": "abc", "headers": {"Cookie": "a=b"}, "q": TOKEN}) == {
        "password": "[redacted: named-secret]",
        "headers": {"Cookie": "[redacted: named-secret]"},
        "q": MARK,
    }


texts = st.one_of(st.text(), st.sampled_from([TOKEN, f"a {TOKEN} b", '{"a": "' + TOKEN + '"}']))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(inner) for inner in value.values()]
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return "text" if isinstance(value, str) else value


@given(values)
def test_the_shape_stays_and_no_token_does(value: Any) -> None:
    clean = redact(value, BUILT_IN).value
    assert shape(clean) == shape(value)
    assert TOKEN not in json.dumps(clean)
    again = redact(clean, BUILT_IN)
    assert again.count == 0


def test_a_short_text_whose_escapes_hide_a_secret_is_not_remembered_as_plain() -> None:
    text = '["\\u0041KIAIOSFODNN7EXAMPLQ"]'

    redact({text: 1}, BUILT_IN)  # where names stand, it is read as it is spelled

    assert redact([text], BUILT_IN).count == 1


def test_a_plain_text_under_the_name_of_a_secret_is_looked_at_again() -> None:
    redact(["kx82hq0s", "password"], BUILT_IN)

    assert redact({"password": "kx82hq0s"}, BUILT_IN).count == 1
