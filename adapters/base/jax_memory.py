"""Memory of JAX on a GPU; `snnbench.measure.memory` reads that of a CPU."""

from typing import Any


def planned_bytes(plan: Any) -> int:
    """Returns the bytes of results and temporary memory in XLA's plan of a call."""
    return int(plan.temp_size_in_bytes + plan.output_size_in_bytes - plan.alias_size_in_bytes)


class JaxMemory:
    """Bytes in use by XLA's counter, and at the peak by its plan of the call. The counter's peak is
    that of the process: a phase would report the peak of an earlier one (jax#8096). `program` is a
    JaxProgram."""

    meaning = "XLA planned"

    def __init__(self, program: Any) -> None:
        self.program, self.plans = program, dict[str, int]()

    def reset(self) -> None:
        self.before = self.in_use()

    def in_use(self) -> int:
        return int(self.program.device.memory_stats()["bytes_in_use"])

    def peak(self) -> tuple[int, int, None]:
        """Returns (bytes in use at reset, most bytes in use since, None: XLA reserves for the whole
        process)."""
        if (call := self.program.last_call) not in self.plans:
            self.plans[call] = planned_bytes(self.program.memory_analysis())
        return self.before, self.before + self.plans[call], None
