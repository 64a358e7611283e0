"""CUDA C++: a ``.cu`` file as data, and what NVRTC makes of it without a GPU."""

from smemviz.frontends.cuda.compiling import Compiled, compile_program
from smemviz.frontends.cuda.program import CudaProgram, View, parse_cuda
from smemviz.recordings.spelling import is_cuda_file

__all__ = ["Compiled", "CudaProgram", "View", "compile_program", "is_cuda_file", "parse_cuda"]
