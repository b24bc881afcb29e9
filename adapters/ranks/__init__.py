"""Several processes that compute one case of torch together: each a rank with its part of the batch
or of the time steps.

Who is asked is a program like any other, in the worker; it has no arrays of its own: what it is
given goes to the ranks in parts, and what they hold is read, part by part, when the harness reads
it.
"""
