"""A NIR file is read in a separate process, which may hang or crash."""

from random import Random

import pytest
from support.nir_files import GOLDEN
from support.slow import representatives

from snnbench.experiment.network import NetworkFault, NetworkTable
from snnbench.experiment.nir import file as nir_file
from snnbench.experiment.nir.file import read_apart, read_nir
from snnbench.experiment.nir.network import network_of

TABLE = NetworkTable(nir="a.nir", dt=1.0, decay="euler", reset="soft")


@pytest.mark.parametrize("seed", representatives(range(12), range(3)))
def test_a_damaged_file_is_a_network_or_a_sentence(tmp_path, seed):
    """Cut anywhere, or with any bytes changed: no traceback, no second line, and no hang."""
    content, random = bytearray((GOLDEN / "sinabs.nir").read_bytes()), Random(seed)
    if seed % 3 == 0:
        del content[random.randrange(len(content)) :]
    for _ in range(seed % 3 * 4):
        content[random.randrange(len(content))] = random.randrange(256)
    path = tmp_path / "a.nir"
    path.write_bytes(content)
    try:
        network_of(read_apart(path, seconds=20), TABLE)
    except NetworkFault as fault:
        assert "\n" not in str(fault) and len(str(fault)) < 400


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("while True: pass", "does not come to an end in 0.5 s"),
        ("import os; os.abort()", "it ended the process that read it"),
    ],
)
def test_hdf5_that_hangs_or_crashes_is_one_sentence(tmp_path, monkeypatch, does, words):
    monkeypatch.setattr(nir_file, "READ", does)
    with pytest.raises(NetworkFault, match=words):
        read_apart(tmp_path / "a.nir", seconds=0.5)


def test_a_byte_on_which_hdf5_loops_is_one_sentence_within_ten_seconds(tmp_path):
    content = bytearray((GOLDEN / "norse.nir").read_bytes())
    content[2496] = 74
    (tmp_path / "a.nir").write_bytes(content)
    with pytest.raises(NetworkFault, match=r"does not come to an end in 0\.7 s"):
        read_apart(tmp_path / "a.nir", seconds=0.7)
    assert nir_file.READING_S < 10


def test_read_apart_reads_the_same(tmp_path):
    apart, here = (read(GOLDEN / "sinabs.nir") for read in (read_apart, read_nir))
    assert apart.edges == here.edges and apart.nodes.keys() == here.nodes.keys()
    with pytest.raises(NetworkFault, match="is no NIR file that HDF5 can read"):
        read_apart(tmp_path / "none.nir")
