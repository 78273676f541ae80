"""`ridge` and `python -m ridge`: the program takes this process's place."""

import os
import sys

from ridge import Error, program


def main():
    try:
        path = program()
    except Error as error:
        print(f"ridge: {error}", file=sys.stderr)
        sys.exit(error.status)
    os.execv(path, ["ridge", *sys.argv[1:]])


if __name__ == "__main__":
    main()
