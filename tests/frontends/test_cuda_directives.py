"""Directives of CUDA C++, found without looking at other tokens, and headers that ask whether others are there."""

import pytest

from smemviz.errors import KernelFileError
from smemviz.frontends.cuda.includes import own_headers
from smemviz.frontends.cuda.text.lexing import directives, scan

TEXTS = (
    '#include "a.h"\n  # include <b.h> // #include "c.h"\n',
    '/* one\n#include "a.h"\n*/ #define A 1\n/* x */ /* y */ # define B\nint a; # define C\n',
    '#define A \\\n  "x" \\\r\n  b\n// a comment \\\n#define NO\n#define YES',
    'const char *a = "\\\n#define NO\\n", *b = R"x(\n#define NO\n)x";\n#define YES\n',
    "int a = 1'000'000; char b = '\"', c = '\\'';\n#define YES // '\n#if 0 /*\n#define NO */\n#endif\n",
    "\f#define A\n\v \t#define B\r\n#\n# \\\nif 1\n",
    "x = a /* # */ # b;\nauto u = u8\"#\" L'#';\n#pragma once",
)


def test_they_are_those_among_all_tokens():
    for text in TEXTS:
        assert list(directives(text)) == [token for token in scan(text) if token.kind == "directive"], text


def test_a_header_of_a_folder_that_is_named_may_ask_for_others_and_finds_none_that_is_not_there(tmp_path):
    library, file = tmp_path / "library", tmp_path / "mine" / "k.cu"
    library.mkdir()
    file.parent.mkdir()
    for folder in (library, file.parent):
        (folder / f"{folder.name}.h").write_text("#if __has_include(<not/there.h>)\n#include <not/there.h>\n#endif\n")
    headers, missing = own_headers("#include <library.h>\n#include <nowhere.h>\n", str(file), [str(library)])
    assert {name: bool(text) for name, text in headers.items()} == {"library.h": True, "nowhere.h": False}
    assert {one.name for one in missing} >= {"nowhere.h"}
    with pytest.raises(KernelFileError, match="__has_include is not supported"):
        own_headers('#include "mine.h"\n', str(file), [str(library)])
