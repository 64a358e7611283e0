"""How a launch ends before its threads do."""


class StoppedError(Exception):
    """The launch ends here: a device would have stopped it, and a finding says why."""
