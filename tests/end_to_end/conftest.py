"""A SLURM of the tests' own, where its packages are installed."""

from collections.abc import Iterator

import pytest
from support.slurm import MISSING, Cluster, Site


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if MISSING:
        packages = "slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge"
        pytest.skip(f"no {', '.join(MISSING)} here (Debian: {packages})")
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def site(cluster, snnbench) -> Iterator[Site]:
    site = Site(cluster, snnbench)
    yield site
    site.clear()
