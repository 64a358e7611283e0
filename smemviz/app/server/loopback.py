"""Which hosts are this machine and nobody else's."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Tell whether a name or an address, an IPv6 address without brackets, only ever means the machine itself.

    ``localhost`` and all names below it do (RFC 6761); whoever owns another name may have it mean this machine.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
