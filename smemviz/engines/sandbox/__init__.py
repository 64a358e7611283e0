"""Text from a browser, run in lockstep without Python ever executing it."""

from smemviz.engines.sandbox.run import TextRun, parse_text, run_text
from smemviz.engines.sandbox.sandbox_limits import SandboxLimits, memory_is_bounded
from smemviz.engines.sandbox.supervisor import Supervisor

__all__ = ["SandboxLimits", "Supervisor", "TextRun", "memory_is_bounded", "parse_text", "run_text"]
