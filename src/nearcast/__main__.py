"""`python -m nearcast` is `nearcast`."""

from nearcast.cli import main

main()
