"""The gallery in Triton: ``record`` compiles and records it without a GPU, ``verify`` runs what was compiled on one.

``record`` needs Triton and torch, whose wheel for CPUs will do. For each target it leaves the recording and the PTX,
with a launch line, beside the kernels. ``verify`` needs neither: it runs that PTX on this machine's GPU and in
lockstep, on the same arguments, and fails unless each access makes as many requests, wavefronts and sectors and the
results agree.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import smemviz
from smemviz.engines.lockstep.ptx.code.parse import parse
from smemviz.engines.lockstep.ptx.host import ptx_in_lockstep
from smemviz.engines.options import RunOptions
from smemviz.engines.process import replaced
from smemviz.errors import SmemvizError
from smemviz.frontends.ptx.ptx_program import PtxProgram
from smemviz.frontends.reading import read_program
from smemviz.paths import cute_gallery, triton_gallery
from smemviz.recordings.data import Launch

FOLDER = Path("kernels/triton")
TARGETS = ((8, 0), (9, 0))


def record() -> None:
    """Record every kernel for every target, and write down its PTX."""
    for path in (FOLDER / path.name for path in triton_gallery()):
        for target in TARGETS:
            name = "sm_{}{}".format(*target)
            with launches() as made:
                recording = smemviz.run(path, engine="lockstep", target=target)
            assert recording.findings == (), recording.findings
            recorded = FOLDER / "recordings" / name / f"{path.stem}.smem.npz"
            recorded.parent.mkdir(parents=True, exist_ok=True)
            recording.save(recorded)
            (text,) = made
            path.with_suffix(f".{name}.ptx").write_text(text, encoding="utf-8")
            print(recorded)


@contextmanager
def launches() -> Iterator[list[str]]:
    """Give the PTX of each launch that is made meanwhile, with a line that launches it."""
    from smemviz.engines.triton import kernels, stand_in_driver

    made: list[str] = []
    seen = stand_in_driver.recorded

    def noted(recorder: Any, launcher: Any, grid: Any, values: Any, *rest: Any) -> bool:
        passed = kernels.passed(launcher.source.signature.items(), values)
        arguments = [_argument(one) for one in passed]
        taken = len(parse(launcher.ptx).functions[launcher.metadata.name].parameters)
        arguments += ["nullptr"] * (taken - len(arguments))
        block, shared = 32 * launcher.metadata.num_warps, launcher.metadata.shared
        grid_text = ", ".join(map(str, grid))
        line = f"// smemviz: {launcher.metadata.name}<<<dim3({grid_text}), {block}, {shared}>>>({', '.join(arguments)})"
        # Debugging information names folders, and places need none of it.
        ptx = re.sub(r"^\t\.section\t\.debug.*?^\t\}\n", "", launcher.ptx, flags=re.MULTILINE | re.DOTALL)
        ptx = re.sub(r'(\.file\t\d+ ")[^"]*/', r"\1", ptx).replace(", debug", "")
        made.append(f"{line}\n{ptx}")
        return seen(recorder, launcher, grid, values, *rest)

    with replaced(stand_in_driver, {"recorded": noted}):
        yield made


def _argument(one: Any) -> str:
    if not one.type.startswith("*"):
        return repr(one.value)
    maker = "zeros" if one.name == "out" else "random"
    shape = ", ".join(map(str, one.value.shape))
    return f"{maker}({shape}, dtype={str(one.value.dtype).removeprefix('torch.')})"


def verify() -> bool:
    """Run the PTX of every kernel that this GPU can run; tell whether all agree with lockstep."""
    from smemviz.engines.gpu.device import device
    from smemviz.engines.gpu.ptx.cuda_on_gpu import Recorder

    capability = device().compute_capability
    agree = True
    for path in (*sorted(FOLDER.glob("*.ptx")), *cute_gallery()):
        target = re.search(r"^\.target sm_(\d)(\d)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert target is not None
        if (int(target[1]), int(target[2])) > capability:
            continue
        (one, left), (other, right) = (_run(path, {}), _run(path, {"make": Recorder().launch}))
        same = sum(map(_counted, one), Counter()) == sum(map(_counted, other), Counter())
        error = max(float(np.abs(a.astype(float) - b.astype(float)).max()) for a, b in zip(left, right, strict=True))
        agree &= same and error < 1e-2
        print(f"{path.name}: requests {'equal' if same else 'DIFFER'}, results within {error:.1e}")
        if not same:
            print("  lockstep", [*map(_counted, one)], "\n  gpu     ", [*map(_counted, other)])
    return agree


def _run(path: Path, how: dict[str, Any]) -> tuple[tuple[Launch, ...], list[Any]]:
    """Return the launches of a file, and the arrays that they left."""
    program, left = read_program(path), list[Any]()
    assert isinstance(program, PtxProgram)
    after = lambda kernel, values: left.extend(value for value in values if isinstance(value, np.ndarray))  # noqa: E731
    launches, findings = ptx_in_lockstep.run(program, RunOptions(), after, **how)
    assert findings == (), findings
    return launches, left


def _counted(launch: Launch) -> Counter[tuple[Any, ...]]:
    """Return how often each access made so many requests, wavefronts and sectors."""
    rows = zip(launch.sites, launch.summary(), strict=True)
    return Counter(
        (site.line, site.column, site.space, site.op, site.width, row.requests, row.wavefronts, row.sectors)
        for site, row in rows
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked for; the exit code is 1 when something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "verify"))
    try:
        if parser.parse_args(arguments).what == "verify":
            return 0 if verify() else 1
        record()
    except SmemvizError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
