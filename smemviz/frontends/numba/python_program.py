"""A kernel file as data: its source, its syntax tree, its constants and its kernels.

One mechanism serves the gallery, a user's file, a knob in the browser and ``--set IPAD=2``: ``with_constants``
replaces the right-hand side of a constant's assignment in the tree, so whatever is computed from it is recomputed
when the tree runs. Nothing is executed here.
"""

import ast
import copy
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from smemviz.errors import KernelFileError
from smemviz.frontends.numba.imported_files import forget, hashes_of_imports
from smemviz.frontends.numba.notebook import NOTEBOOK, cell_lines
from smemviz.frontends.numba.syntax import DtypeName, evaluate
from smemviz.frontends.program import Constant, Program
from smemviz.languages import PYTHON
from smemviz.messages import english
from smemviz.recordings.vocabulary import DTYPES, ConstantValue

_CONSTANT_NAME = re.compile(r"_?[A-Z][A-Z0-9_]*")
_TRITON = "triton"
_MAX_BITS = 1 << 13  # of a literal; Python writes 4,300 digits


@dataclass(frozen=True)
class PythonProgram(Program):
    """A kernel file in Python.

    ``kernels`` and ``functions`` name the module-level functions under ``@cuda.jit``: those a launch starts, and
    those declared ``device=True``. What is not trusted Python never executes: the sandbox walks its tree.
    """

    language = PYTHON

    kernels: Mapping[str, ast.FunctionDef] = field(repr=False)
    tree: ast.Module = field(repr=False)
    functions: Mapping[str, ast.FunctionDef] = field(repr=False)

    def _constants(self, overrides: Mapping[str, ConstantValue]) -> dict[str, Constant]:
        return _constants_of(self.file, self.source, self.tree, overrides)

    @property
    def summary(self) -> str:
        """What the file says of itself, in the first paragraph of its docstring."""
        return (ast.get_docstring(self.tree) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def is_notebook(self) -> bool:
        """Whether the source is that of a notebook's cells."""
        return self.file.endswith(NOTEBOOK)

    @property
    def has_main(self) -> bool:
        """Whether the file has a kernel and a ``main()`` that can be called; any other is a script, and a notebook."""
        return bool(self.kernels) and self._main_can_be_called

    @property
    def is_script(self) -> bool:
        """Whether it has no ``main()`` that can be called."""
        return not self.has_main

    def heads(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Return the line of each kernel and the names of its parameters."""
        return {name: (node.lineno, tuple(a.arg for a in node.args.args)) for name, node in self.kernels.items()}

    def helper_hashes(self) -> tuple[tuple[str, str], ...]:
        """Return the path and the SHA-256 of every module beside it that it imports, or that those import."""
        return hashes_of_imports(self.source, Path(self.file).resolve().parent)

    def forget(self, helpers: Iterable[str]) -> None:
        """Let the next import read these files anew."""
        forget(helpers)

    @property
    def leaves_main(self) -> bool:
        """Whether it is a script with a ``main()`` that it makes no use of, its kernels being made by Numba or CuPy."""
        is_used = any(isinstance(node, ast.Name) and node.id == "main" for node in ast.walk(self.tree))
        return not self.kernels and self._main_can_be_called and not is_used

    @property
    def _main_can_be_called(self) -> bool:
        main = find_main(self.tree)
        return not self.is_notebook and main is not None and _arguments_needed(main) == 0

    @property
    def texts(self) -> tuple[list[str], dict[str, str]]:
        """What the functions that kernels may call say, and what each kernel says, without comments.

        It is written anew: a dump of the tree differs between versions of Python.
        """
        called = [_text(node) for node in self.functions.values()]
        return called, {name: _text(node) for name, node in self.kernels.items()}

    @property
    def runs_itself(self) -> bool:
        """Whether the file does something when Python runs it, that is under ``if __name__ == "__main__"``."""
        tests = (node.test for node in self.tree.body if isinstance(node, ast.If))
        return any(isinstance(part, ast.Name) and part.id == "__name__" for test in tests for part in ast.walk(test))

    def require_main(self) -> ast.FunctionDef:
        """Return ``main()``; raise unless the file has it and a kernel, the two things a run needs."""
        if not self.kernels:
            raise KernelFileError(
                self.file, 1, english("no kernel here; decorate a module-level function with @cuda.jit")
            )
        main = find_main(self.tree)
        if main is None:
            raise KernelFileError(self.file, 1, english("no main() here; write one that allocates and launches"))
        if _arguments_needed(main):
            raise KernelFileError(self.file, main.lineno, no_arguments())
        return main

    def parts(self) -> list[CodeType]:
        """Compile the module as ``code`` does, a notebook cell by cell."""
        if not self.is_notebook:
            return [self.code()]
        starts = cell_lines(self.source)
        cells: dict[int, list[ast.stmt]] = {}
        for statement in self.statements():
            cells.setdefault(bisect_right(starts, statement.lineno), []).append(statement)
        return [self.code(cell) for cell in cells.values()]

    def code(self, statements: list[ast.stmt] | None = None) -> CodeType:
        """Compile the module with its overrides in place; dtypes are looked up by ``__smemviz_dtype__(name)``.

        Raises:
            KernelFileError: when it is not trusted, or not valid. Whatever executes a kernel file comes through here.
        """
        if not self.trusted:
            raise KernelFileError(
                self.file, 1, english("comes from elsewhere and is not executed; save it and run the file")
            )
        try:
            return compile(ast.Module(statements or self.statements(), []), self.file, "exec", dont_inherit=True)
        except SyntaxError as error:  # one that is no matter of grammar, such as a break outside of a loop
            raise KernelFileError(
                self.file, error.lineno or 1, english("is not valid Python: {error}", error=error.msg)
            ) from None

    def statements(self) -> list[ast.stmt]:
        """Return the module's statements with the overrides in place, as ``code`` compiles them."""
        statements = [self._overridden(statement) for statement in self.tree.body]
        passed = self.overrides.keys() - {_constant_target(statement) for statement in self.tree.body}
        if not passed:
            return statements
        from smemviz.frontends.numba.launch_keywords import with_keywords

        values = {name: self.overrides[name] for name in passed}
        return [with_keywords(statement, values, self.tree) for statement in statements]

    def _overridden(self, statement: ast.stmt) -> ast.stmt:
        """Return a statement of the module, with another value where it assigns an overridden constant."""
        target = _constant_target(statement)
        if target is None or target not in self.overrides:
            return statement
        new = copy.copy(statement)
        assert isinstance(new, ast.Assign | ast.AnnAssign)
        assert new.value is not None
        new.value = _literal(self.overrides[target], new.value)
        return new


def no_arguments() -> str:
    """Say why a ``main()`` cannot be called."""
    return english("main() is called without arguments; give each a default")


def _text(function: ast.FunctionDef) -> str:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return "\n".join([function.name, *map(ast.unparse, (*function.decorator_list, function.args, *body))])


def parse_python(source: str, file: str) -> PythonProgram:
    """Read the text of a kernel file in Python.

    Raises:
        KernelFileError: when it is not valid Python.
    """
    try:
        tree = ast.parse(source, filename=file)
    except SyntaxError as error:
        raise KernelFileError(
            file, error.lineno or 1, english("is not valid Python: {error}", error=error.msg)
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise KernelFileError(file, 1, english("cannot be parsed: {error}", error=error)) from None
    kernels: dict[str, ast.FunctionDef] = {}
    functions: dict[str, ast.FunctionDef] = {}
    imported = _imported(tree)
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            kind = _jit_kind(statement, imported)
            if kind is not None:
                check_numbers(file, statement)
                (functions if kind == "device" else kernels)[statement.name] = statement
    return PythonProgram(file, source, _constants_of(file, source, tree, {}), kernels, tree, functions)


def check_numbers(file: str, tree: ast.AST) -> None:
    """Refuse whole numbers so long that Python writes them no more, in an error or in a picture.

    Raises:
        KernelFileError: naming the line.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > _MAX_BITS:
            what = english("a whole number of more than {most:,} bits", most=_MAX_BITS)
            raise KernelFileError(file, node.lineno, what)


def find_main(tree: ast.Module) -> ast.FunctionDef | None:
    """Return the definition of ``main()``, None where there is none, or a kernel has that name."""
    candidates = (
        statement for statement in tree.body if isinstance(statement, ast.FunctionDef) and statement.name == "main"
    )
    return next((function for function in candidates if _jit_kind(function, _imported(tree)) is None), None)


def _arguments_needed(function: ast.FunctionDef) -> int:
    """Count the arguments that a function cannot be called without."""
    arguments = function.args
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional + arguments.kw_defaults.count(None)


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return what the names stand for that a module imports at its top, as in ``{"cuda": "numba.cuda"}``."""
    names: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                names |= {alias.asname: alias.name} if alias.asname else {root: root}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _jit_kind(function: ast.FunctionDef, imported: Mapping[str, str]) -> str | None:
    """Tell whether decorators make a function a kernel or a device function; others than Numba have a ``jit``, too."""
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        root, _, rest = ast.unparse(call.func if call else decorator).partition(".")
        name = f"{imported.get(root, root)}.{rest}".rstrip(".")
        if name.rpartition(".")[2] != "jit" or (root in imported and not name.endswith("cuda.jit")):
            continue
        device = call and any(
            k.arg == "device" and isinstance(k.value, ast.Constant) and k.value.value is True for k in call.keywords
        )
        return "device" if device else "kernel"
    return None


def _constant_target(statement: ast.stmt) -> str | None:
    """Return the name that a statement assigns if it has the form of a constant."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return None
    if isinstance(target, ast.Name) and _CONSTANT_NAME.fullmatch(target.id):
        return target.id
    return None


def _constants_of(
    file: str, source: str, tree: ast.Module, overrides: Mapping[str, ConstantValue]
) -> dict[str, Constant]:
    """Return the constants of a module and, where it has kernels of Triton, those that their launches pass."""
    constants = _read_constants(file, tree, overrides)
    if _TRITON in source:
        from smemviz.frontends.numba.launch_keywords import launch_constants

        constants = launch_constants(tree, overrides) | constants
    return constants


def _read_constants(file: str, tree: ast.Module, overrides: Mapping[str, ConstantValue]) -> dict[str, Constant]:
    """Evaluate the constants in file order; what is not a number or a dtype is no constant."""
    constants: dict[str, Constant] = {}
    scope: dict[str, object] = {}
    for statement in tree.body:
        name = _constant_target(statement)
        if name is None:
            continue
        assert isinstance(statement, ast.Assign | ast.AnnAssign)
        assert statement.value is not None
        value: object
        if name in overrides:
            value = overrides[name]
            value = DtypeName(value) if isinstance(value, str) else value
        else:
            value = evaluate(statement.value, scope)
        scope.pop(name, None)
        constants.pop(name, None)
        if isinstance(value, bool | int | float | DtypeName):
            scope[name] = value
            depends = tuple(
                dict.fromkeys(
                    node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name) and node.id in constants
                )
            )
            constants[name] = Constant(
                name,
                str(value) if isinstance(value, DtypeName) else value,
                "dtype" if isinstance(value, DtypeName) else type(value).__name__,
                statement.lineno,
                ast.unparse(statement.value),
                depends,
            )
    return constants


def _literal(value: ConstantValue, like: ast.expr) -> ast.expr:
    """Build the expression of a value at the place of the one it replaces."""
    node: ast.expr
    if isinstance(value, str):
        assert value in DTYPES
        node = ast.Call(ast.Name("__smemviz_dtype__", ast.Load()), [ast.Constant(value)], [])
    else:
        node = ast.Constant(value)
    return ast.fix_missing_locations(ast.copy_location(node, like))
