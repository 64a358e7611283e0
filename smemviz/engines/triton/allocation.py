"""What a compiled kernel of Triton uses shared memory for, found by allocating it once more in its own code."""

import importlib
import tempfile
from pathlib import Path
from typing import Any

from smemviz.engines.launch_shape import is_library
from smemviz.frontends.cuda.shapes import SharedPiece
from smemviz.frontends.triton.shared_pieces import shared_pieces

# What Triton does before it allocates shared memory.
_BEFORE = (("ttgpuir", "add_combine_tensor_select_and_if"), ("convert", "add_scf_to_cf"))


def pieces_of(compiled: Any) -> tuple[SharedPiece, ...]:
    """Return the pieces of shared memory of a compiled kernel; none where this version of Triton does not tell."""
    metadata = compiled.metadata
    if not metadata.shared or "ttgir" not in compiled.asm:
        return ()
    allocated = _allocated(compiled.asm["ttgir"], metadata.target)
    return shared_pieces(allocated, metadata.shared, lambda file: not is_library(file))


def _allocated(text: str, target: Any) -> str:
    """Return a kernel's code with shared memory allocated in it."""
    library: Any = importlib.import_module("triton._C.libtriton")
    backend = importlib.import_module("triton.compiler.compiler").make_backend(target)
    context = library.ir.context()
    library.ir.load_dialects(context)
    backend.load_dialects(context)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ttgir"
        path.write_text(text, encoding="utf-8")
        module = library.ir.parse_mlir_module(str(path), context)
    module.context = context
    manager = library.ir.pass_manager(context)
    for room, name in _BEFORE:
        getattr(getattr(library.passes, room), name)(manager)
    own = library.nvidia.passes.ttgpuir
    if hasattr(own, "add_allocate_shared_memory_nv"):
        version = importlib.import_module("triton.backends.nvidia.compiler").get_ptx_version_from_options
        own.add_allocate_shared_memory_nv(manager, target.arch, version(backend.parse_options({}), target.arch))
    else:
        library.passes.ttgpuir.add_allocate_shared_memory(manager)
    try:
        manager.run(module, "smemviz")
    except TypeError:  # of versions that take no name
        manager.run(module)
    return str(module)
