"""Machine code of a module; this imports llvmlite, so import it late."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm


def engine_of(text: str) -> llvm.ExecutionEngine:
    """Compile a module in LLVM's language; the code is there as long as what is returned."""
    _initialize()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)  # which belongs to the engine
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
