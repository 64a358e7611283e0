"""Answers to come back later: a question that found the server busy gets status 429, and is told when to ask again."""

from __future__ import annotations

from flask import Flask, Response, g, has_request_context

from smemviz.errors import BusyError, WaitingError
from smemviz.messages import say


def note_busy(error: BusyError) -> None:
    """Note that what is being answered found the server busy; who has a place in a queue is told that place instead."""
    if has_request_context():
        g.passes = True  # what is said now does not hold for long
        if not isinstance(error, WaitingError):
            g.busy = error


def answer_busy(server: Flask) -> None:
    """Have a server say so, whatever was made of the page meanwhile: pages ask again by themselves."""

    def answer(response: Response) -> Response:
        busy: BusyError | None = g.pop("busy", None)
        if busy is None:
            return response
        message = say(str(busy)) or str(busy)
        return Response(f"{message}\n", 429, {"Retry-After": str(busy.seconds)}, "text/plain")

    server.after_request(answer)
