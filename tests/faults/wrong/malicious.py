"""Adapters that are wrong and reach into the harness to pass all the same. Every class says what
it does."""

import os
import signal
import sys
from pathlib import Path

import gradients
import timed
from constants import DecayOff

from snnbench.adapters.base.torch_program import TorchProgram
from snnbench.measure.slots import CLOCK


def patch_the_judge():
    """Make every verdict in this process a good one."""
    from snnbench.proof import judge, recheck, stages

    right = judge.CallVerdict()
    for module in (judge, recheck, stages):
        module.judge = lambda *_, **__: right
    recheck.recheck = lambda *_, **__: {}
    stages.prove = lambda *_, **__: stages.Proof()
    for name, module in list(sys.modules.items()):
        if name.startswith("snnbench.worker"):
            vars(module).update(
                {"recheck": recheck.recheck, "prove": stages.prove}
                if hasattr(module, "recheck")
                else {}
            )


def forge(*events):
    """Add events to the file of events of this worker."""
    with open(Path(sys.argv[2]).with_name("events"), "a") as stream:
        stream.writelines(f"{event}\n" for event in events)


class PatchesTheJudge(DecayOff):
    """Has another decay, and patches the judge."""

    name = "wrong-patches-the-judge"

    def prepare(self, case, threads):
        patch_the_judge()
        super().prepare(case, threads)


class FrozenLater(timed.Frozen):
    steps = 0

    def step(self, x, upstream):
        self.steps += 1
        step = super().step if self.steps > 20 else super(timed.Frozen, self).step
        return step(x, upstream)


class PatchesTheRecheck(timed.Driven):
    """Leaves the parameters as they are in steps after the proof, and patches the recheck."""

    name = "wrong-patches-the-recheck"
    driver = FrozenLater

    def prepare(self, case, threads):
        patch_the_judge()
        super().prepare(case, threads)


PROVED = '{"part": "proof", "status": "ok", "proof": {"passed": true, "reason": null, "loosened": [], "stages": []}}'


class ForgesEvents(DecayOff):
    """Has another decay, and writes that it was proved."""

    name = "wrong-forges-events"

    def prepare(self, case, threads):
        super().prepare(case, threads)
        forge(PROVED, "no JSON", "[]", '{"part": 3}')


class ForgesItsEnd(gradients.OtherSurrogate):
    """Has another surrogate, writes that it was proved and has ended, and is gone."""

    name = "wrong-forges-its-end"

    def prepare(self, case, threads):
        forge(PROVED, '{"part": "end", "cpu_seconds": 0.0}')
        os._exit(0)


class DyingProgram(TorchProgram):
    def inference(self, x):
        if self.adapter.programs == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().inference(x)


class DiesInTheProof(timed.Driven):
    """Dies in the second stage of its proof; its first program is the one that is timed."""

    name = "wrong-dies-in-the-proof"
    driver, programs = DyingProgram, 0

    def program(self, case, network):
        self.programs += 1
        program = super().program(case, network)
        program.adapter = self
        return program


class SlowClock(timed.TorchLoop):
    """Makes the harness's clock run at half speed."""

    name = "wrong-slow-clock"

    def prepare(self, case, threads):
        super().prepare(case, threads)
        if not hasattr(self, "real"):
            self.real = CLOCK.perf_counter
            CLOCK.perf_counter = lambda: self.real() / 2


class RewritesRecords(timed.TorchLoop):
    """Writes other times into the records of others."""

    name = "wrong-rewrites-records"

    def prepare(self, case, threads):
        super().prepare(case, threads)
        for record in (
            one for above in Path(sys.argv[2]).parents[:8] for one in above.glob("records/*.json")
        ):
            record.write_text(record.read_text().replace('"reason": null', '"reason": "slow"'))
