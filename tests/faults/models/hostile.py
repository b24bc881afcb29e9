"""Models that must not harm the command: each ends in one sentence."""

import ctypes
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


class Segfaults(Base):
    def forward(self, x):
        ctypes.string_at(0)


class ClosesFiles(Base):
    """Closes the pipes to the command, too."""

    def forward(self, x):
        os.closerange(0, 200)
        return self.fc(x)


class Recurses(Base):
    def forward(self, x):
        return self.forward(x)


class Prints(Base):
    def forward(self, x):
        for _ in range(100):
            print("x" * (1 << 20))
        return self.fc(x)


class PrintsBelow(Base):
    """Prints past Python's streams, as libraries in C do."""

    def forward(self, x):
        for _ in range(50):
            os.write(1, b"x" * (1 << 20))
            os.write(2, b"x" * (1 << 20))
        return self.fc(x)


class Forks(Base):
    """Leaves a child in every call, and one that leaves the process group."""

    def forward(self, x):
        if os.fork() == 0:
            time.sleep(1000)
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
        return self.fc(x)


class ForksOn(Base):
    """Its children go on with the examination."""

    def forward(self, x):
        os.fork()
        return self.fc(x)


class Eats(Base):
    """Takes more and more memory."""

    def forward(self, x):
        held = [x]
        while True:
            held.append(torch.ones(1 << 23))


class Raises(Base):
    def forward(self, x):
        raise ValueError("no such neuron")


class Returns(Base):
    def forward(self, x):
        y = self.fc(x)
        return {"spikes": y, "others": (y.sum(), [y.mean()])}


class ReturnsTuple(Base):
    def forward(self, x):
        y = self.fc(x)
        return y, None, (y.mean(), "potentials")


class Nothing(Base):
    def forward(self, x):
        self.fc(x)


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.LazyLinear(5)

    def forward(self, x):
        return self.fc(x)


class LazyNeurons(nn.Module):
    """A neuron between layers that are lazy until the first call."""

    def __init__(self):
        import snntorch

        super().__init__()
        torch.manual_seed(0)
        self.fc1, self.lif1 = nn.LazyLinear(7), snntorch.Leaky(0.9)
        self.fc2 = nn.LazyLinear(5)

    def forward(self, x):
        membrane, y = self.lif1.init_leaky(), []
        for step in x:
            spikes, membrane = self.lif1(4 * self.fc1(step), membrane)
            y.append(self.fc2(spikes))
        return torch.stack(y)


class Large(Base):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(11, 900_000)

    def forward(self, x):
        return self.fc(x)


class LargeUsed(nn.Module):
    """10 million parameters, all in use."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Sequential(nn.Linear(11, 3162), nn.Linear(3162, 3162), nn.Linear(3162, 5))

    def forward(self, x):
        return self.wide(x)


def meta():
    return Base().to("meta")


def cuda():
    return Base().cuda()


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
