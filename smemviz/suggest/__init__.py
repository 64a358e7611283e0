"""Another layout for a shared array, as text: edits of the kernel file, and the proof that they keep their promise."""

from smemviz.suggest.answering import Answer, answer
from smemviz.suggest.edits import Edit, edited, unified_diff
from smemviz.suggest.find import suggestions
from smemviz.suggest.rewrites import NotRewrittenError, Rewrite, rewritten
from smemviz.suggest.rewriting import Rewriting
from smemviz.suggest.suggestion import Check, Promise, Refused, Suggestion
from smemviz.suggest.verify import Verifier, times

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
    "Verifier",
    "answer",
    "edited",
    "rewritten",
    "suggestions",
    "times",
    "unified_diff",
]
