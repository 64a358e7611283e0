"""What a project's ``compile_commands.json`` says of a file."""

import json

import pytest

from smemviz.errors import InputError
from smemviz.frontends.compile_commands import CompilerOptions, project_options


def database(folder, **entry):
    path = folder / "compile_commands.json"
    path.write_text(json.dumps([{"directory": str(folder), "file": "other.cu", "command": "nvcc"}, entry]))
    return path


def test_a_file_has_the_folders_macros_and_standard_of_its_command(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build/includes.rsp").write_text('-I"/opt/with space" -isystem=/opt/system\n')
    command = (
        "nvcc -forward-unknown-to-host-compiler -DTILE=32 -D NAME='\"a\"' --options-file includes.rsp -I../src "
        "-std=c++20 -include first.h --generate-code=arch=compute_90,code=[sm_90] -x cu -c ../k.cu -o k.o"
    )
    path = database(tmp_path, directory=str(tmp_path / "build"), file="../k.cu", command=command)
    assert project_options(path, str(tmp_path / "k.cu")) == CompilerOptions(
        ("--std=c++20", "-DTILE=32", '-DNAME="a"'),
        ("/opt/with space", "/opt/system", f"{tmp_path}/build/../src"),
        ("first.h",),
    )


def test_a_command_may_be_a_list_of_words(tmp_path):
    path = database(tmp_path, directory=str(tmp_path), file="k.cu", arguments=["nvcc", "-DN=2", "-c", "k.cu"])
    assert project_options(path, str(tmp_path / "k.cu")) == CompilerOptions(("-DN=2",))


def test_a_database_without_the_file_or_with_a_command_that_cannot_be_read_is_refused(tmp_path):
    path = tmp_path / "compile_commands.json"
    for text, message in [
        (None, "No such file or directory"),
        ("[]", "does not say how k.cu is compiled; name its folders with -I"),
        ("{", "is not a compile_commands.json; CMAKE_EXPORT_COMPILE_COMMANDS writes one"),
        ("[3]", "is not a compile_commands.json"),
    ]:
        if text is not None:
            path.write_text(text)
        with pytest.raises(InputError, match=message):
            project_options(path, "k.cu")
    for entry, why in [
        ({"output": "k.o"}, "'command'"),
        ({"command": "nvcc -DNAME='a -c k.cu"}, "No closing quotation"),
        ({"arguments": ["nvcc", "k.cu", "-I"]}, "expected one argument"),
    ]:
        database(tmp_path, directory=str(tmp_path), file="k.cu", **entry)
        with pytest.raises(InputError, match=rf"the command of \S+k\.cu cannot be read: .*{why}"):
            project_options(path, str(tmp_path / "k.cu"))
