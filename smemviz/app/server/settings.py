"""What a server open to others is told, by the command line or its environment, and whose a host is.

That is this machine's alone, or a visitor's: whoever has an address can change all else that is sent.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from smemviz.errors import InputError

REQUESTS = 50.0  # a second of one visitor; who holds a key down to step asks for about as many
_OWN_BITS = 64  # of an IPv6 address; below them whoever has the network may choose


class Settings(NamedTuple):
    """What is served to others, under which names and within which bounds; each has a variable ``SMEMVIZ_...``.

    ``prefix`` is the path under which a proxy shows the server, ``proxy`` the address of that proxy, whose word is
    taken for who asks. ``shared`` is a folder in which the processes of one server keep what all of them need.
    """

    files: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()
    prefix: str = ""
    proxy: str = ""
    editor: bool = True
    log: bool = True
    requests: float = REQUESTS
    runs: int = 2
    memory_gb: float = 6.0
    shared: str = ""

    @staticmethod
    def read(environment: Mapping[str, str]) -> Settings:
        """Read the variables; what is not there is as it is without.

        Raises:
            InputError: for a value that makes no sense.
        """
        texts = {name: environment.get(variable, "") for name, variable in _VARIABLES.items()}
        return Settings(
            tuple(Path(path) for path in texts["files"].split(os.pathsep) if path),
            tuple(name.strip() for name in texts["names"].split(",") if name.strip()),
            prefix_of(texts["prefix"]),
            texts["proxy"],
            texts["editor"] != "0",
            texts["log"] != "0",
            _number(texts, "requests", REQUESTS),
            int(_number(texts, "runs", 2, least=1)),
            _number(texts, "memory_gb", 6.0, least=0.25),
            texts["shared"],
        )

    def environment(self) -> dict[str, str]:
        """Return the variables from which these settings are read."""
        texts = {
            "files": os.pathsep.join(str(path.resolve()) for path in self.files),
            "names": ",".join(self.names),
            "editor": "1" if self.editor else "0",
            "log": "1" if self.log else "0",
            "requests": f"{self.requests:g}",
            "runs": str(self.runs),
            "memory_gb": f"{self.memory_gb:g}",
        }
        texts |= {name: getattr(self, name) for name in ("prefix", "proxy", "shared")}
        return {_VARIABLES[name]: value for name, value in texts.items()}


_VARIABLES = {
    "files": "SMEMVIZ_FILES",
    "names": "SMEMVIZ_ALLOW_HOST",
    "prefix": "SMEMVIZ_PREFIX",
    "proxy": "SMEMVIZ_PROXY",
    "editor": "SMEMVIZ_EDITOR",
    "log": "SMEMVIZ_LOG",
    "requests": "SMEMVIZ_REQUESTS",
    "runs": "SMEMVIZ_RUNS",
    "memory_gb": "SMEMVIZ_MEMORY",
    "shared": "SMEMVIZ_SHARED",
}


def prefix_of(text: str) -> str:
    """Return a path to put before every path: ``/`` and names, or nothing.

    Raises:
        InputError: when it is no path.
    """
    path = text.strip("/")
    if not all(part and all(letter.isalnum() or letter in "-_.~" for letter in part) for part in path.split("/")):
        if not path:
            return ""
        raise InputError(f"{text!r} is not a path to serve under; write it like /smemviz")
    return f"/{path}"


def _number(texts: Mapping[str, str], name: str, default: float, least: float = 0) -> float:
    text = texts[name]
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf"):
        raise InputError(f"{_VARIABLES[name]}={text} is not a number of at least {least:g}")
    return value


def is_loopback(host: str) -> bool:
    """Tell whether a name or an address, an IPv6 address without brackets, only ever means the machine itself.

    ``localhost`` and all names below it do (RFC 6761); whoever owns another name may have it mean this machine.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@lru_cache(maxsize=4096)
def visitor_of(address: str) -> str:
    """Return what all addresses have in common that one visitor may have."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return str(ip)
    if ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(ip), _OWN_BITS), strict=False))
