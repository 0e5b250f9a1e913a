"""The least that a proxy in Python can do: pass on what is ready, and look at nothing."""

import os
import select
import subprocess
import sys


def relay(command: list[str]) -> None:
    its_input, to_server = os.pipe()
    from_server, its_output = os.pipe()
    with subprocess.Popen(command, stdin=its_input, stdout=its_output):
        os.close(its_input)
        os.close(its_output)
        goes = {0: to_server, from_server: 1}
        poll = select.poll()
        for source in goes:
            poll.register(source, select.POLLIN)
        while from_server in goes:
            for source, _ in poll.poll():
                chunk = os.read(source, 65_536)
                if chunk:
                    os.write(goes[source], chunk)
                    continue
                poll.unregister(source)
                target = goes.pop(source)
                if target == to_server:
                    os.close(to_server)


relay(sys.argv[1:])
