"""What to do about what a script lacks: a clause behind what Python says of it."""

from __future__ import annotations

import os
import re
import sys
import traceback
from pathlib import Path

from smemviz.engines.packages import PYTHON_2, is_installed, package_of
from smemviz.messages import english


def remedy(error: BaseException) -> str:
    """Return what to do about an exception, with a semicolon before it; nothing where only its script can tell."""
    if isinstance(error, ModuleNotFoundError) and error.name and str(error).startswith("No module named"):
        return f"; {_missing(error.name)}"
    if isinstance(error, FileNotFoundError) and error.filename is not None and not os.path.isabs(error.filename):
        return "; " + english("it is looked for in {folder}; run smemviz in the folder that has it", folder=os.getcwd())
    if isinstance(error, FileNotFoundError) and str(error.filename).startswith("/content/"):
        return "; " + english("that folder is Colab's; put the file beside the script, and name it without a folder")
    if isinstance(error, IndexError) and "argv" in (_last_line(error) or ""):
        return "; " + wants_arguments()
    if isinstance(error, ImportError) and "relative import" in str(error):
        return "; " + english("the file is a part of a package: run the script that imports it")
    if older := isinstance(error, AttributeError) and re.search(r"use `(\w+)` by itself", str(error)):
        return "; " + english("it is written for an older NumPy: write {name} instead", name=older[1])
    if "CUDA initialized before forking" in str(error):
        return "; " + english("start processes with multiprocessing.get_context('spawn'), or fork before the first use")
    return ""


def wants_arguments() -> str:
    """Say how a script is given its arguments."""
    return english("it reads arguments: write them after --, as in smemviz run FILE -- 1024")


def _missing(module: str) -> str:
    root = module.partition(".")[0]
    if root != module and is_installed(root):
        return english("the {package} that is installed has no such part", package=root)
    for folder in Path(sys.path[0]).resolve().parents:  # a part of a package that is run as a script
        if (folder / root).is_dir() or (folder / f"{root}.py").is_file():
            return english("it lies in {folder}; run with PYTHONPATH={folder}", folder=folder)
    if newer := PYTHON_2.get(module):
        return english("it is written for Python 2: write {name} instead", name=newer)
    if root in sys.stdlib_module_names:
        return english("it is a part of Python that the one here was installed without")
    package = package_of(module)
    if package is None:
        return english("put {root}.py beside the file, or install the package that has it", root=root)
    return english(
        "install it with pip install {package}, or put {root}.py beside the file", package=package, root=root
    )


def _last_line(error: BaseException) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].line if frames else None
