"""Limits of error texts in events and records.

An exception of a compiler can have megabytes. What is printed is shorter still: on a terminal by
`common.texts.SHOWN` and `brief`, in an answer by `report.answer.MOST_OF_A_REASON`.
"""

LONGEST_REASON = 2000
"""Characters of an exception in one line; the beginning is kept."""
LONGEST_FOR_JUDGE = 4000
"""Characters of an exception in a call for the judge, which finds its status in them; the beginning
is kept."""
LONGEST_TRACEBACK = 4000
"""Characters of a traceback; its middle is cut out, as it begins with the adapter's line and ends
with the error."""
TAIL_BYTES = 4096
"""Size of the end of a worker's output in its record: a process that dies says why last."""
LONGEST_TEXT = 10_000
"""Characters of any text in a record, wherever it was written; the beginning is kept."""
