"""The command `nacre unwrap`: let clients start their servers without Nacre again."""

import click

from nacre.cli.being_options import Place, being_options
from nacre.cli.wrap.wrap import check_selection, chosen_clients, open_place, select, server_options


@click.command()
@server_options
@being_options
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
    """Let clients start their servers without Nacre again.

    An entry that was not changed since 'nacre wrap' is restored byte for byte. In an entry that
    was changed, the proxy is removed and the changes stay.
    """
    from nacre.cli.wrap.output import show_outcomes, show_problems
    from nacre.firewall.wrap.client_servers import by_file, find_servers

    check_selection(servers, every=every)
    opened = open_place(place, "unwrap")
    found_servers, problems = find_servers(
        opened.files, opened.records, opened.machine, chosen_clients(clients)
    )
    if every:
        # Servers that were wrapped in a project are included: their records name the files.
        selected = [
            entry
            for entry in found_servers
            if entry.server.proxy is not None
            and (
                entry.scope == "user"
                or project
                or opened.records.get(entry.file, entry.server.path) is not None
            )
        ]
    else:
        named = select(found_servers, servers, project=True)
        selected = [entry for entry in named if entry.server.proxy is not None] or named
    outcomes = [opened.wrapper.unwrap(group, rehearse=dry_run) for group in by_file(selected)]
    if not selected:
        click.echo("No server is wrapped.", err=True)
    code = show_outcomes(outcomes, rehearsed=dry_run, as_json=as_json)
    if every:
        show_problems(problems)
    return code or int(every and bool(problems))
