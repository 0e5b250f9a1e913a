"""`python -m nacre.cli`: the command line where the script `nacre` is not at hand."""

from nacre.cli.main import main

main()
