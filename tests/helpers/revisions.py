"""A repository for tests of revisions."""

import subprocess
from pathlib import Path


def commit(path: Path) -> None:
    """Make a repository of the folder of a file, and the file as it is now its only revision."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    for command in (["init"], ["add", path.name], ["commit", "-m", "Begin"]):
        subprocess.run(["git", *who, *command], cwd=path.parent, check=True, capture_output=True, timeout=60)
