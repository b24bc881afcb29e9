"""Right networks that take more than they were given: cores, processes and memory. Every class says
how."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

from numpy_network import NumpyNetwork, NumpyProgram

EVERY_CORE = range(os.cpu_count() or 1)


class BoundToAll(NumpyNetwork):
    """Binds its process to every core of the machine."""

    name = "bound-to-all"

    def prepare(self, case, threads):
        os.sched_setaffinity(0, EVERY_CORE)


class ThreadOnAll(NumpyNetwork):
    """Binds a thread of its own to every core of the machine."""

    name = "thread-on-all"
    started = False

    def prepare(self, case, threads):
        if not self.started:
            self.started = True
            threading.Thread(target=self.wait, daemon=True).start()

    def wait(self):
        os.sched_setaffinity(0, EVERY_CORE)
        threading.Event().wait()


class ChildOnAll(NumpyNetwork):
    """Has a child process on every core of the machine."""

    name = "child-on-all"
    child = 0

    def prepare(self, case, threads):
        if self.child:
            return
        self.child = os.fork()
        if not self.child:
            os.sched_setaffinity(0, EVERY_CORE)
            signal.pause()


class PooledProgram(NumpyProgram):
    pool = ThreadPoolExecutor(3)

    def inference(self, x):
        return self.pool.submit(super().inference, x).result()

    def step(self, x, upstream):
        return self.pool.submit(super().step, x, upstream).result()


class ComputesInThreads(NumpyNetwork):
    """Is right: computes in threads on the cores that it was given, and waits for them."""

    name = "computes-in-threads"
    program_class = PooledProgram
