"""What to do about what a script lacks: a clause behind what Python says of it."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from pathlib import Path

from smemviz.messages import english

# What is installed under another name than it is imported by.
_PACKAGES = {
    "cv2": "opencv-python",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
}


def remedy(error: BaseException) -> str:
    """Return what to do about an exception, with a semicolon before it; nothing where only its script can tell."""
    if isinstance(error, ModuleNotFoundError) and error.name and str(error).startswith("No module named"):
        return f"; {_missing(error.name)}"
    if isinstance(error, FileNotFoundError) and error.filename is not None and not os.path.isabs(error.filename):
        return "; " + english("it is looked for in {folder}; run smemviz in the folder that has it", folder=os.getcwd())
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
    if root != module and _is_installed(root):
        return english("the {package} that is installed has no such part", package=root)
    for folder in Path(sys.path[0]).resolve().parents:  # a part of a package that is run as a script
        if (folder / root).is_dir() or (folder / f"{root}.py").is_file():
            return english("it lies in {folder}; run with PYTHONPATH={folder}", folder=folder)
    package = _PACKAGES.get(root, root)
    return english(
        "install it with pip install {package}, or put {root}.py beside the file", package=package, root=root
    )


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _last_line(error: BaseException) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].line if frames else None
