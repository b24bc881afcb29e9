"""A SLURM of the tests' own, where its packages are installed."""

from collections.abc import Iterator

import pytest
from support.slurm import Cluster, lacking
from support.slurm_site import Site


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Two nodes, which the tests of a process share one after the other."""
    if reason := lacking():
        pytest.skip(f"SLURM cannot be had: {reason}")
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def site(cluster, snnbench) -> Iterator[Site]:
    """The command line where that SLURM is; afterwards nothing of it may be left."""
    site = Site(cluster, snnbench)
    yield site
    site.clear()


@pytest.fixture(scope="module")
def site_module(cluster, snnbench_module) -> Iterator[Site]:
    site = Site(cluster, snnbench_module)
    yield site
    site.clear()
