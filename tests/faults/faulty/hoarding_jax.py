"""The plain JAX scan, with a program that keeps an array of the device from its first forward
on."""

import jax
import numpy as np

from snnbench.adapters.base.jax_program import JaxProgram
from snnbench.adapters.jax_scan import JaxScan

BUFFER = 64 << 20


class HoardingProgram(JaxProgram):
    workspace = None

    def forward(self, x):
        if self.workspace is None:
            self.workspace = jax.device_put(np.ones(BUFFER, np.uint8))
        return super().forward(x)


class HoardingJax(JaxScan):
    name = "hoarding-jax"

    def program(self, case, network):
        return HoardingProgram(self, case, network)
