"""``python -m smemviz`` is the command line."""

import sys

from smemviz.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
