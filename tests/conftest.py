import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

# Output that is no terminal has no width; pytest imports readline, which sets one behind os.environ's back.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")
