"""Print a script that has a shell complete verbs, options and files of smemviz.

Let the shell read it when it starts:

    eval "$(smemviz completion bash)"                 # in ~/.bashrc
    smemviz completion zsh > "${fpath[1]}/_smemviz"   # once, for zsh

tcsh has it as ``smemviz completion tcsh``.
"""

import argparse
from importlib import import_module
from pathlib import Path

_SHELLS = ("bash", "zsh", "tcsh")
_FILES = ("before", "after", "recording")  # which may also be revisions, or are read as text for other reasons


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=f"{', '.join(_SHELLS[:-1])} or {_SHELLS[-1]}")


def execute(arguments: argparse.Namespace) -> int:
    """Put all verbs into one parser and print what shtab makes of it."""
    import shtab

    print(shtab.complete(_every_verb(shtab.FILE), arguments.shell))
    return 0


def _every_verb(file: object) -> argparse.ArgumentParser:
    """Return a parser that has the verbs as commands and marks what names a ``file``."""
    from smemviz.cli.main import VERBS

    whole = argparse.ArgumentParser("smemviz")
    import_module("smemviz.cli.verbs.dashboard").add_arguments(whole)
    whole._positionals._group_actions.clear()  # the files of the dashboard; a verb is what comes first
    whole._actions[:] = [action for action in whole._actions if action.option_strings]
    verbs = whole.add_subparsers()
    parsers = [whole]
    for name in VERBS:
        module = import_module(f"smemviz.cli.verbs.{name}")
        parsers.append(verbs.add_parser(name, help=(module.__doc__ or " ").splitlines()[0]))
        module.add_arguments(parsers[-1])
    for parser in parsers:
        for action in parser._actions:
            if action.type is Path or action.dest in _FILES:
                action.complete = file  # type: ignore[attr-defined]
    return whole
