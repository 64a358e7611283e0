"""Who a visitor is: an address, for whoever has one can change all else that is sent."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

_OWN_BITS = 64  # of an IPv6 address; below them whoever has the network may choose


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
