"""Another layout for a shared array, as text: edits of the kernel file, and the proof that they keep their promise."""

from smemviz.rewrite.answering import Answer, Verified, answer
from smemviz.rewrite.edits import Edit, edited, unified_diff
from smemviz.rewrite.find import Promise, Refused, Suggestion, suggestions
from smemviz.rewrite.rewriting import Rewrite, Rewriting, rewritten
from smemviz.rewrite.uses import NotRewrittenError
from smemviz.rewrite.verify import Check, Verifier, times

__all__ = [
    "Answer",
    "Check",
    "Edit",
    "NotRewrittenError",
    "Promise",
    "Refused",
    "Rewrite",
    "Rewriting",
    "Suggestion",
    "Verified",
    "Verifier",
    "answer",
    "edited",
    "rewritten",
    "suggestions",
    "times",
    "unified_diff",
]
