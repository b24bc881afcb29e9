"""The identity of a machine, which survives reboots if the machine has one."""

import pytest

from snnbench.machine.facts import _node, busy_warning

FILES = {
    "machine-id": "etc/machine-id",
    "product_uuid": "sys/class/dmi/id/product_uuid",
    "boot_id": "proc/sys/kernel/random/boot_id",
}
TEXTS = {name: f"0123456789 {name}" for name in FILES}


def node(root, container=True, **texts):
    for name, text in {**TEXTS, **texts}.items():
        path = root / FILES[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(f"{text}\n")
    return _node(container, root)


def test_a_container_s_machine_is_the_same_after_a_reboot_and_in_another_image(tmp_path):
    first = node(tmp_path)
    assert first["node_of"] == "product_uuid"
    assert node(tmp_path, boot_id="another-boot", **{"machine-id": "another-image"}) == first
    assert node(tmp_path, product_uuid="another-board")["node"] != first["node"]


def test_outside_containers_the_machine_id_counts(tmp_path):
    assert node(tmp_path, container=False)["node_of"] == "machine-id"


@pytest.mark.parametrize(
    "nothing",
    [None, "", "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"],
)
def test_an_identity_until_the_next_reboot_says_so(tmp_path, nothing):
    assert node(tmp_path, product_uuid=nothing)["node_of"] == "boot_id"


def test_without_a_source_there_is_no_identity(tmp_path):
    assert node(tmp_path, product_uuid=None, boot_id=None) == {}


def test_a_machine_with_more_programs_than_cores_is_busy():
    assert busy_warning(2.0, 2) == busy_warning(0.0, 1) == []
    (sentence,) = busy_warning(15.23, 2)
    assert (
        sentence.startswith("this machine is busy: a load of 15.2 on 2 cores: ")
        and "proofs may run out of time" in sentence
    )
