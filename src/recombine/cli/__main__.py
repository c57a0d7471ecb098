"""`python -m recombine.cli` is the program `recombine`."""

from . import main

if __name__ == "__main__":
    main()
