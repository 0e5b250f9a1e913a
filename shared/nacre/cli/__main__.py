"""`python -m nacre.cli`: the command line without the script `nacre`."""

from nacre.cli.main import main

main()
