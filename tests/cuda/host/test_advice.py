from __future__ import annotations

import pytest

from smemviz.engines.cpp_host.program_run import advising
from smemviz.engines.lockstep.running_launch import Expecting
from smemviz.frontends.cuda import parse_cuda

KERNEL = "__global__ void k(int *x) {}\n"


class Told:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, done: int, total: int, text: str) -> None:
        self.texts.append(text)

    def expect(self, seconds: float, text: str) -> None:
        self.texts.append(f"{text} {seconds:.0f}")


@pytest.mark.parametrize(
    ("main", "arguments", "advice"),
    [
        ("#define TILE 32\nint main() { const int N = 1 << 20; }", [], " (N is 1048576; give less with --set N=...)"),
        (
            "int main(int c, char **argv) {}",
            [],
            " (it reads arguments: write them after --, as in smemviz run FILE -- 1024)",
        ),
        ("int main(int c, char **argv) {}", ["9"], ""),
        ("#define TILE 32\nint main() {}", [], ""),
    ],
)
def test_what_takes_long_says_once_what_makes_it_shorter(main: str, arguments: list[str], advice: str) -> None:
    told = Told()
    progress = advising(told, parse_cuda(KERNEL + main + "\n", "p.cu"), arguments)
    assert isinstance(progress, Expecting)
    progress(1, 2, "k")
    for seconds in (5, 40, 50):
        progress.expect(seconds, "k")
    assert told.texts == ["k", "k 5", f"k{advice} 40", "k 50"]
