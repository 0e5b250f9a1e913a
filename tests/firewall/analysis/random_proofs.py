"""Random policies, shapes and calls, to hold every answer of `policy prove` against the engine."""

from collections import Counter
from random import Random
from typing import Any

from nacre.core.errors import PolicyError
from nacre.firewall.analysis.prove import Proof, Shape, deny_rule, prove
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ArgumentTest, Subject, Surroundings

CALLS = 40  # tried against each proof

PLACES = (
    Surroundings(),
    Surroundings(),
    Surroundings(home="/home/ann"),
    Surroundings(opens_files=False),
    Surroundings(bases=("/srv/app",)),
    Surroundings(home="/home/ann", bases=("/home/ann/code", "/srv")),
    Surroundings(folds_case=True),
    Surroundings(home="/Users/Ann", bases=("/Users/Ann/x",), folds_case=True),
)

TOOLS = ("read", "read_file", "write", "shell", "ﬁle", "a/b", "resources/read", "mcp__fs__read")
TOOL_GLOBS = (
    *("read", "read_*", "re*", "*", "**", "write", "?ile", "file", "sh?ll", "*_file", "shell"),
    *("mcp__fs__read", "mcp__fs__*", "mcp__*", "mcp__f*__re*", "mcp__a__b__*", "a/b", "a\uff0fb"),
    *("mcp__x___read", "mcp__x__*"),
)
METHODS = ("resources/read", "prompts/get", "sampling/createMessage", "roots/list")
METHOD_GLOBS = ("resources/read", "resources/*", "prompts/get", "sampling/*", "**", "*/*")
SERVERS = ("fs", "files", "a__b", "x_", "git", "nacre", "")
SERVER_GLOBS = ("nacre", "fs", "f*", "**", "*", "git", "a__b", "x_", "?s")
KEYS = ("path", "q", "opt", "path.sub", '"*"', 'path."*"', "opt.deep.x", "uri", "name")

NAMES = ("path", "q", "opt", "uri", "name", "zz")
WORDED = (
    "{ every_address = '*@acme.org' }",
    "{ every_address = '*@acme.org', optional = true }",
    "{ one_command = ['git log **', 'ls'] }",
    "{ one_statement = 'select' }",
)
TEXTS = ("ann@acme.org", "Ann <a@acme.org>, b@evil.org", "git log -1", "ls; id", "select 1", "")

SEGMENTS = ("etc", "home", "ann", "code", "srv", "app", ".ssh", "a", "b", "x.txt", "passwd", "A")
LITERALS = (
    *("main", "a", "b", "true", "5", "hello", "ls", "git status", "git log -1", "SELECT 1"),
    *("https://api.github.com/repos", "https://127.0.0.1/x", "file:///etc/passwd", "~/.ssh/a"),
    *(
        "/",
        ".",
        "..",
        "C:/Users/ann/a",
        "http://a/b",
        "~bob/x",
        "../x",
        "a.txt",
        "\uff2b",
        "straße",
        "/proc/self/cwd/.ssh/a",
        "/proc/self/root/etc/passwd",
        "/dev/fd/../cwd/etc/x",
        "proc/1/cwd/a",
        "/private/etc/passwd",
    ),
)
GLOBS = (
    *("**", "*", "?", "/etc/**", "/home/ann/**", "/srv/app/**", "**/.ssh/**", "*.txt", "**/*.txt"),
    *("~/**", "~", "/home/*/code/**", "/home/ann/code/**", "/**", "a*", "?b", "/*", "/a/?/b"),
    *("https://api.github.com/**", "https://*/x", "https://**", "http?://a/**", "file:///etc/**"),
    *("git *", "git log **", "git **", "SELECT **", "** code **", "ls*", "a/**", "**/a", "../**"),
    *("/a//b", "/etc/./**", "/home/ann/", "C:/Users/**", "\\\\srv\\app\\**", "/A/**", "*a*", "1*"),
    *("view-source:**", "*:*", "/etc/*/*/", "**/etc/**", "code/**", "./a", "/srv/../etc/**"),
    *("/proc/**", "/private/**", "/private/etc/**", "**/cwd/**", "/proc/self/cwd/**"),
)


class World:
    """A source of random policies, shapes and calls."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def policy(self) -> Policy:
        """Return a random policy that loads."""
        while True:
            text = "".join(self._rule() for _ in range(self.rng.randint(1, 6)))
            if self.rng.random() < 0.03:
                text += "[settings]\nmode = 'monitor'\n"
            try:
                return load_policy(text, source="random")
            except PolicyError:
                continue

    def shape(self, policy: Policy) -> Shape:
        """Return a random shape, often one that speaks of what the policy allows."""
        rng = self.rng
        allowed = [
            (rule.name, test)
            for rule in policy.rules
            if rule.action == "allow"
            for test in rule.tests
            if isinstance(test.values[0], str)
        ]
        if allowed and rng.random() < 0.4:
            name, test = rng.choice(allowed)
            text = _changed(rng, _example(rng, str(test.values[0]))).replace("\0", "")
            keys = rng.choice((test.keys, test.keys, ("*",)))
            return Shape(rng.choice((name, "**")), tests=(ArgumentTest(keys, (text or "**",)),))
        count = rng.choice((0, 1, 1, 1, 2))
        tests = tuple(ArgumentTest(self._keys(), (self._glob(),)) for _ in range(count))
        name = rng.choice(METHOD_GLOBS) if rng.random() < 0.2 else rng.choice(TOOL_GLOBS)
        return Shape(name, server=rng.choice(("**", "**", *SERVER_GLOBS)), tests=tests)

    def call(self, policy: Policy, shape: Shape) -> Subject:
        """Return a random call, made of what the policy and the shape speak of."""
        rng = self.rng
        globs = [
            wanted
            for test in (*shape.tests, *(test for rule in policy.rules for test in rule.tests))
            for wanted in test.values
        ]
        keys = [test.keys for test in (*shape.tests, *(t for r in policy.rules for t in r.tests))]
        arguments: dict[str, Any] = {}
        for place in dict.fromkeys([*keys, *([self._keys()] if rng.random() < 0.3 else [])]):
            if rng.random() < 0.85:
                self._put(arguments, place, self._value(globs))
        names = [shape.name, *(rule.name for rule in policy.rules)]
        name = _example(rng, rng.choice(names)) if rng.random() < 0.7 else rng.choice(TOOLS)
        if name.startswith("mcp__") and rng.random() < 0.7:
            name = name.split("__", 2)[-1]
        servers = [shape.server, *(rule.server or "fs" for rule in policy.rules)]
        server = _example(rng, rng.choice(servers)) if rng.random() < 0.5 else rng.choice(SERVERS)
        if rng.random() < 0.25 and shape.kind != "tool":
            return Subject("method", rng.choice(METHODS), server, arguments)
        return Subject("tool", name or "read", server, arguments)

    def _rule(self) -> str:
        rng = self.rng
        text = f"[[rule]]\naction = '{rng.choice(('allow', 'allow', 'deny', 'prompt'))}'\n"
        about = rng.random()
        if about < 0.8:
            text += f"tool = '{rng.choice(TOOL_GLOBS)}'\n"
        elif about < 0.9:
            text += f"method = '{rng.choice(METHOD_GLOBS)}'\n"
        else:
            text += f"resource = '{self._glob()}'\n"
        if rng.random() < 0.3:
            text += f"server = '{rng.choice(SERVER_GLOBS)}'\n"
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            wanted = repr(self._glob()) if rng.random() < 0.9 else rng.choice(("5", "true", "1.5"))
            if rng.random() < 0.15:
                wanted = f"[{wanted}, '{self._glob()}']"
            key = rng.choice(KEYS)
            if "*" not in key and rng.random() < 0.2:
                wanted = rng.choice((*WORDED, f"{{ glob = {wanted}, optional = true }}"))
            text += f"args.{key} = {wanted}\n"
        if rng.random() < 0.1:
            text += "ignore_case = true\n"
        if rng.random() < 0.15:
            text += f"only_args = {rng.sample(NAMES, rng.randint(0, len(NAMES)))}\n"
        return text.replace('"\\\\', "'\\")

    def _keys(self) -> tuple[str, ...]:
        return tuple(self.rng.choice(KEYS).replace('"', "").split("."))

    def _glob(self) -> str:
        rng = self.rng
        chosen = rng.random()
        if chosen < 0.6:
            return rng.choice(GLOBS)
        if chosen < 0.8:
            return rng.choice(LITERALS)
        parts = [rng.choice((*SEGMENTS, "*", "**", "?")) for _ in range(rng.randint(1, 4))]
        return ("/" if rng.random() < 0.7 else "") + "/".join(parts)

    def _put(self, arguments: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
        rng, holder = self.rng, arguments
        *heads, last = [rng.choice(("path", "zz", "q")) if key == "*" else key for key in keys]
        for key in heads:
            inner = holder.setdefault(key, {})
            if not isinstance(inner, dict):
                return
            holder = inner
        holder[last] = value

    def _value(self, globs: list[Any]) -> Any:
        rng = self.rng
        chosen = rng.random()
        if chosen < 0.08:
            return [self._text(globs) for _ in range(rng.randint(0, 3))]
        if chosen < 0.12:
            return {rng.choice(("x", "sub", "deep")): self._text(globs)}
        if chosen < 0.2:
            return rng.choice((5, True, 1.5, None, 0, "5", 1))
        return self._text(globs)

    def _text(self, globs: list[Any]) -> str:
        rng = self.rng
        glob = str(rng.choice(globs)) if globs and rng.random() < 0.8 else self._glob()
        text = rng.choice(TEXTS) if rng.random() < 0.1 else _example(rng, glob)
        if rng.random() < 0.2:
            text = _example(rng, str(rng.choice(globs or ["a"]))).rstrip("/") + "/" + text
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            text = _changed(rng, text)
        return text


def _example(rng: Random, glob: str) -> str:
    """Return a text that the glob covers, or nearly."""
    parts = glob.replace("**", "\0").replace("*", "\1")
    text = ""
    for letter in parts:
        if letter == "\0":
            text += "/".join(rng.choice(SEGMENTS) for _ in range(rng.randint(0, 3)))
        elif letter == "\1":
            text += rng.choice(("", *SEGMENTS))
        elif letter == "?":
            text += rng.choice("abfAs/ ﬁ")
        else:
            text += letter
    return text


def _changed(rng: Random, text: str) -> str:
    """Return another spelling of the text, or of something close to it."""
    place = rng.randint(0, len(text))
    head, tail = text[:place], text[place:]
    changes = (
        text.upper(),
        text.replace("/", "//"),
        text.replace("/", "/./"),
        text.replace("/", "\\"),
        text.replace("/", "%2f").replace(".", "%2e"),
        f"{head}/../{tail}",
        text.lstrip("/"),
        f"/{text}",
        f"{text}/",
        f" {text}\n",
        f"file://{text}",
        text.replace("/home/ann", "~"),
        "../" * rng.randint(1, 3) + text.lstrip("/"),
        f"view-source:{text}",
        text.replace("a", "\uff41").replace("/", "\uff0f"),
        text.replace(" ", "  ").replace("s", "\u017f"),
        text.replace("127.0.0.1", "0x7f.1").replace("https:", "HTTPS:"),
        f"{head}\u200b{tail}",
    )
    return rng.choice(changes)


def is_of(shape: Shape, subject: Subject, where: Surroundings) -> bool:
    """Tell whether a rule that denies the shape would deny the call."""
    denying = Policy("", "shape", (deny_rule(shape),))
    return denying.decide(subject, where).rule is not None


def try_proofs(seed: int, count: int, *, calls: int = CALLS) -> Counter[str]:
    """Prove random shapes of random policies, and raise AssertionError for a false answer."""
    world = World(seed)
    answers: Counter[str] = Counter()
    for _ in range(count):
        policy = world.policy()
        shape = world.shape(policy)
        where = world.rng.choice(PLACES)
        proof = prove(policy, shape, where)
        answers[str(proof.holds)] += 1
        check(world, policy, shape, where, proof, calls)
    return answers


def check(
    world: World, policy: Policy, shape: Shape, where: Surroundings, proof: Proof, calls: int
) -> None:
    """Hold one answer against the engine, with random calls."""
    enforces = policy.settings.mode == "enforce"
    if proof.counterexample is not None:
        assert is_of(shape, proof.counterexample, where), (policy.rules, shape, where, proof)
        passes = policy.decide(proof.counterexample, where).action == "allow"
        assert passes or not enforces, (policy.rules, shape, where, proof)
    if not proof.holds:
        return
    assert enforces, (policy.rules, shape, proof)
    for _ in range(calls):
        subject = world.call(policy, shape)
        if policy.decide(subject, where).action == "allow":
            assert not is_of(shape, subject, where), (policy.rules, shape, where, subject)
