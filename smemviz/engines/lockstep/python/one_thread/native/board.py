"""What threads that run a loop in order share: whose turn it is, and what they did, in the order in which they did it.

That is numbers of 64 bits, as what each thread keeps: of which the first are those that a caller looks at.
"""

from __future__ import annotations

END, RETURNED, STOP, DUE, FAR, OTHER, PRINT, WAIT, FULL, ALL = range(10)  # why machine code returns
# The places in what a thread keeps; behind them is when the access is to come that it waits for, and its variables.
_PLACES = range(15)
RESUME, LINE, SCOPE, TURN, LEFT_OF, MOST, LEAST, BEGAN, NOTED, GROUPS, STORED, WHOLE, BOARD, LANE, OVER = _PLACES
WHEN = len(_PLACES)
DEEPEST = 12  # numbers that tell when an access comes: two for each loop around it
FIRST = WHEN + DEEPEST

# What a thread keeps of how it is over, which is 1 more than why it stopped; 0 while it goes on.
ENDED, GONE, PARKED = END + 1, RETURNED + 1, STOP + 1

# The places on the board: how many events there are, and may be; the row that they are in; where they are; which thread
# has returned; and behind them when the access of this row comes.
COUNT, LIMIT, ROW, EVENTS, WHO = range(5)
NOW = 5
BOARD_SIZE = NOW + DEEPEST
# What an event is: the row, the thread, the number of the access, its place, and what was there before and is behind.
EVENT = ("row", "lane", "number", "place", "before", "after")
