"""The command `nacre unwrap`: take the policy away again, without a trace."""

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.wrap.wrap import check_selection, chosen_clients, open_place, select, server_options


@click.command()
@server_options
@placed
def unwrap(
    servers: tuple[str, ...],
    *,
    every: bool,
    clients: tuple[str, ...],
    project: bool,
    dry_run: bool,
    as_json: bool,
    place: Place,
) -> int:
    """Let clients start their servers themselves again.

    An entry that is as 'nacre wrap' left it becomes what it was, byte for byte. In one that was
    changed since, the proxy goes and the changes stay.
    """
    from nacre.cli.wrap.output import show_done, show_problems
    from nacre.firewall.wrap.client_servers import by_file, look

    check_selection(servers, every=every)
    opened = open_place(place, "unwrap")
    found, problems = look(opened.files, opened.records, opened.machine, chosen_clients(clients))
    if every:
        # Also what was wrapped in projects: their files are known from then.
        wanted = [
            each
            for each in found
            if each.server.proxy is not None
            and (
                each.scope == "user"
                or project
                or opened.records.get(each.file, each.server.path) is not None
            )
        ]
    else:
        named = select(found, servers, project=True)
        wanted = [each for each in named if each.server.proxy is not None] or named
    done = [opened.wrapper.unwrap(group, rehearse=dry_run) for group in by_file(wanted)]
    if not wanted:
        click.echo("No server is wrapped.", err=True)
    code = show_done(done, rehearsed=dry_run, as_json=as_json)
    if every:
        show_problems(problems)
    return code or int(every and bool(problems))
