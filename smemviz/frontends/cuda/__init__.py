"""CUDA C++: a ``.cu`` file as data, and what NVRTC makes of it without a GPU."""

from smemviz.frontends.cuda.compiling import Compiled, compile_program
from smemviz.frontends.cuda.cuda_program import CudaProgram, parse_cuda

__all__ = ["Compiled", "CudaProgram", "compile_program", "parse_cuda"]
