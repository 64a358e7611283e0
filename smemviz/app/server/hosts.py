"""Whose a host is: this machine's alone, or a visitor's. Whoever has an address can change all else that is sent."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

_OWN_BITS = 64  # of an IPv6 address; below them whoever has the network may choose


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
