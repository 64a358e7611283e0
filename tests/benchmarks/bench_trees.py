"""Whether a change of this project made anything slower: the same work by two of its trees in turns, as ratios.

    git worktree add ../before COMMIT
    python tests/benchmarks/bench_trees.py ../before

Every piece of work is one that both trees can do, on the kernel files of the older. Whole commands are measured in
processes of their own, what is called again and again warm in one process. Compared are times of the processor, which
other work on the machine changes less; the least of several turns each.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
TURNS = 3

WARM = """
import sys, time
import numpy as np
import smemviz
{setup}
def work():
    {work}
work()
taken = []
for _ in range({repeats}):
    begin = time.process_time()
    work()
    taken.append(time.process_time() - begin)
print(min(taken))
"""
COMMANDS = {
    "smemviz --help": ("--help",),
    "import smemviz.run": ("-c", "import smemviz; smemviz.run"),
    "smemviz run reduce.py --json": ("run", "{kernels}/reduce.py", "--engine", "lockstep", "--json"),
    "smemviz run transpose.py -o": ("run", "{kernels}/transpose.py", "--engine", "lockstep", "-o", "{out}/t.smem.npz"),
    "smemviz run matmul.cu": ("run", "{kernels}/matmul.cu", "--engine", "lockstep", "--json"),
    "smemviz export square.py .html": ("export", "{kernels}/square.py", "-o", "{out}/square.html", "--force"),
    "smemviz suggest square.py": ("suggest", "{kernels}/square.py", "--engine", "lockstep"),
}
CALLS = {
    "run transpose.py, warm": ("file = sys.argv[1] + '/transpose.py'", "smemviz.run(file, engine='lockstep')", 10),
    "run reduce.py, warm": ("file = sys.argv[1] + '/reduce.py'", "smemviz.run(file, engine='lockstep')", 10),
    "wavefronts of 100,000 requests": (
        "addresses = np.random.default_rng(0).integers(0, 4096, (100_000, 32)) * 4",
        "smemviz.wavefronts(addresses, 4, 'load')",
        5,
    ),
    "a page of the app, warm": (
        "client = smemviz.create_app().server.test_client()",
        "assert client.get('/_dash-layout').status_code == 200",
        10,
    ),
}


def command(tree: Path, arguments: tuple[str, ...]) -> float:
    """Return the seconds of the processor that a command takes in a process of its own."""
    python = (sys.executable,) if arguments[0] == "-c" else (sys.executable, "-m", "smemviz")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*python, *arguments], env=_environment(tree), capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{tree}: {' '.join(arguments)}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def call(tree: Path, setup: str, work: str, repeats: int, kernels: str) -> float:
    """Return the least seconds of the processor that a call takes, warm, in a process of its own."""
    code = WARM.format(setup=setup, work=work, repeats=repeats)
    argv = [sys.executable, "-c", code, kernels]
    return float(subprocess.run(argv, env=_environment(tree), capture_output=True, text=True, check=True).stdout)


def _environment(tree: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(tree), "COLUMNS": "120"}


def main() -> None:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "smemviz" / "__init__.py").is_file():
        raise SystemExit("name the folder of the other tree: python tests/benchmarks/bench_trees.py ../before")
    trees = (Path(sys.argv[1]).resolve(), HERE)
    kernels = str(trees[0] / "kernels")
    print(f"{'':<34}{'before':>10}{'after':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as out:
        for name, arguments in COMMANDS.items():
            given = tuple(one.format(kernels=kernels, out=out) for one in arguments)
            _print(name, [[command(tree, given) for tree in trees] for _ in range(TURNS)])
        for name, (setup, work, repeats) in CALLS.items():
            _print(name, [[call(tree, setup, work, repeats, kernels) for tree in trees] for _ in range(TURNS)])


def _print(name: str, turns: list[list[float]]) -> None:
    before, after = map(min, zip(*turns, strict=True))
    print(f"{name:<34}{before:>9.3f}s{after:>9.3f}s{after / before:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
