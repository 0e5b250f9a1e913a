import pytest

from nacre.firewall.proxy.server_name import name_of_command


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem@1.2 /data", "server-filesystem"),
        ("npm exec -y weather@latest", "weather"),
        ("uvx mcp-server-git --repository /srv", "mcp-server-git"),
        ("uvx --from mcp-server-git==1.0 mcp-server-git", "mcp-server-git"),
        ("uv --directory /srv/p run thing", "thing"),
        ("python -m mcp_server_time", "mcp_server_time"),
        ("/usr/bin/python3.11 -u /opt/files/server.py", "files"),
        ("node /srv/weather/build/index.js", "weather"),
        ("docker run -i --rm -v /a:/b -e KEY=v ghcr.io/x/fetch:1", "fetch"),
        ("env A=b ./my-server --x", "my-server"),
        (r"cmd /c npx -y weather", "weather"),
        (r"C:\Tools\weather.exe", "weather"),
        ("deno run -A jsr:@scope/thing", "thing"),
        ("python", "python"),
        ("/", "server"),
        ("./é b", "b"),
    ],
)
def test_a_server_is_called_what_its_command_runs(command: str, name: str) -> None:
    assert name_of_command(command.split(" ")) == name


def test_a_name_is_short_and_plain() -> None:
    name = name_of_command(["/opt/" + "x$y " * 100])

    assert len(name) <= 64
    assert set(name) <= {"x", "y", "-"}
