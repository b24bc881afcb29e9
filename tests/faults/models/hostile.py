"""Models that must not harm the command: each ends in one sentence."""

import os
import time

import torch
from torch import nn


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(11, 5)


class Hangs(Base):
    def forward(self, x):
        while True:
            time.sleep(0.01)


class Exits(Base):
    def forward(self, x):
        os._exit(3)


class SysExits(Base):
    def forward(self, x):
        raise SystemExit("enough")


class Prints(Base):
    def forward(self, x):
        for _ in range(100):
            print("x" * (1 << 20))
        return self.fc(x)


class Raises(Base):
    def forward(self, x):
        raise ValueError("no such neuron")


class Returns(Base):
    def forward(self, x):
        y = self.fc(x)
        return {"spikes": y, "others": (y.sum(), [y.mean()])}


class Nothing(Base):
    def forward(self, x):
        self.fc(x)


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.LazyLinear(5)

    def forward(self, x):
        return self.fc(x)


class Large(Base):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(11, 900_000)

    def forward(self, x):
        return self.fc(x)


def missing():
    import package_that_is_not_installed  # noqa: F401


def number():
    return 7


def wrong_width():
    return nn.Linear(12, 5)


def batch_first():
    class Net(Base):
        def forward(self, x):
            if x.shape[0] != 3:
                raise ValueError("the batch comes first")
            return self.fc(x)

    return Net()


def takes_arguments(hidden):
    return nn.Linear(11, hidden)


def memory():
    return torch.zeros(1 << 40)
