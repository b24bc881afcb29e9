"""Right networks that report the process they run in, or its cores, as their backend."""

import os

from numpy_network import NumpyNetwork, NumpyProgram


class ReportsProcessProgram(NumpyProgram):
    def facts(self, result):
        return {"backend": f"process {os.getpid()}"}


class ReportsProcess(NumpyNetwork):
    name = "reports-process"
    program_class = ReportsProcessProgram


class ReportsCoresProgram(NumpyProgram):
    def facts(self, result):
        return {"backend": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}"}


class ReportsCores(NumpyNetwork):
    name = "reports-cores"
    program_class = ReportsCoresProgram
