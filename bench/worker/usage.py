"""What a worker has used of the machine."""

import resource
import time


def cpu_seconds() -> float:
    """CPU time of this process and of what it has started and waited for: a compiler is part of the case, not a stranger."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
