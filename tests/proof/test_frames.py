"""The frames of the proof are tonic's, and what is wrong with delivered ones is named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.recordings import data_case, frames_of_tonic, made, pipeline_of
from support.slow import without
from tonic.functional import to_frame_numpy

from snnbench.core.datasets import DATA_SETS, form_of
from snnbench.data.reading import opened
from snnbench.data.recordings import Events
from snnbench.proof.frames import FAULTS, OF_CAMERAS, PROVED, wrong_with
from snnbench.proof.framing import Asked, Framing
from snnbench.worker.judging_data import framing_of

FEW = 6
NAMES = {"ssc": (PROVED, 250), "nmnist": (PROVED, 37), "dvsgesture": (FEW, 5)}
"""Data sets, recordings that are compared with tonic's, and time steps."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: made(tmp_path_factory.mktemp(name), name, FEW) for name in NAMES}


def case_of(name, samples=None):
    count, steps = NAMES[name]
    return data_case(
        "frames", "uint8", dataset=f"synthetic-{name}", samples=samples or count, time_steps=steps
    )


@pytest.mark.parametrize("name", without({"ssc", "nmnist"}, NAMES))
def test_frames_of_1024_recordings_are_those_of_tonic(tmp_path, name):
    case = case_of(name)
    folder = made(tmp_path, name, case.samples)
    framing, events = (
        framing_of(case),
        opened(case.dataset, folder, case.samples).events(case.samples),
    )
    assert PROVED == 1024
    for one, (frames, _) in zip(events, frames_of_tonic(folder, case), strict=True):
        ours = framing.frames(one)
        assert np.array_equal(ours[: len(frames)], frames) and not ours[len(frames) :].any()


def check(name, events, steps):
    """Our frames of `events`, (t, x, y, p) each, and those of tonic's transforms."""
    data = DATA_SETS[name]
    columns = np.array(sorted(events), np.int64).T
    assume((columns[0] <= data.longest_us).any())
    named = np.zeros(
        len(events), [(column, "i8") for column in ("txp" if data.is_sound else "txyp")]
    )
    for column, values in zip("txyp", columns, strict=True):
        if column in named.dtype.names:
            named[column] = values
    frames = pipeline_of(data, steps)(named)
    t, *places = columns
    ours = Framing(data, steps).frames(
        Events(t.astype(np.float64), *(places[:1] if data.is_sound else places))
    )
    assert (
        np.array_equal(ours[: len(frames)], frames.reshape(len(frames), -1)[:steps])
        and not ours[len(frames) :].any()
    )


def times_and_places(data):
    sizes = (*data.sensor[:2], data.sensor[2])
    return st.lists(
        st.tuples(
            st.integers(0, data.longest_us + 300_000), *(st.integers(0, size - 1) for size in sizes)
        ),
        min_size=1,
        max_size=50,
    )


@given(times_and_places(DATA_SETS["ssc"]), st.sampled_from([1, 2, 37, 250, 999]))
def test_any_events_of_a_sound_become_the_frames_that_tonic_makes(events, steps):
    check("ssc", events, steps)


@given(times_and_places(DATA_SETS["nmnist"]), st.sampled_from([1, 2, 37, 97]))
def test_any_events_of_a_camera_become_the_frames_that_tonic_makes(events, steps):
    check("nmnist", events, steps)


SHIFTS = [1, -5, 0, 3, 5, -2]


def asked_of(folders, name, shifts, count=FEW):
    """The recordings begin after a fifth of their time of silence, so that their origin and
    their end matter."""
    recordings, silence = opened(name, folders[name], count), form_of(name).longest_us / 5
    events = [one._replace(t=one.t + silence) for one in recordings.events(count)]
    return Asked(events, recordings.labels[:count], shifts)


def framing(name):
    return framing_of(case_of(name))


def answer(asked, name="ssc"):
    return asked.frames(framing(name)).astype(np.float32), asked.labels.copy()


@pytest.mark.parametrize("shifts", [[0] * 6, SHIFTS], ids=["as it is", "augmented"])
@pytest.mark.parametrize("name", NAMES)
def test_right_batches_pass(folders, name, shifts):
    asked = asked_of(folders, name, shifts)
    assert wrong_with(framing(name), asked, *answer(asked, name)) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [*(("ssc", fault) for fault in FAULTS), *(("nmnist", fault) for fault in FAULTS | OF_CAMERAS)],
)
def test_a_fault_is_named(folders, name, fault):
    asked = asked_of(folders, name, SHIFTS if "shift" in fault or "leaves" in fault else [0] * 6)
    wrong = (FAULTS | OF_CAMERAS)[fault](framing(name), asked).astype(np.float32)
    assert wrong_with(framing(name), asked, wrong, asked.labels) == fault


@pytest.mark.parametrize("split", ["time", "number"])
def test_frames_by_even_parts_are_those_of_the_frameworks(split):
    """Of a recording of which neither times nor counts divide by the steps. SpikingJelly's ends of
    frames are those of its documents: `datasets.utils`, which needs torchvision."""
    random, steps = np.random.default_rng(1), 37
    data, events = DATA_SETS["ssc"], np.zeros(991, [("t", "i8"), ("x", "i8"), ("p", "i8")])
    events["t"], events["x"] = np.sort(random.integers(50_000, 901_234, 991)), 7
    asked = Events(events["t"].astype(np.float64), events["x"])
    how = {"n_time_bins": steps} if split == "time" else {"n_event_bins": steps}
    counts = to_frame_numpy(events, (700, 1, 1), **how).sum((1, 2))
    ours = Framing(data, steps, split).frames(asked).sum(1)
    assert np.array_equal(ours, counts) and counts.sum() < 991
    counts[-1] += 991 - counts.sum()
    ours = Framing(data, steps, split, rest_in_last=True).frames(asked).sum(1)
    assert np.array_equal(ours, counts), "its last frame has the rest"


OTHERS = {
    "labels are those of other recordings of the batch": lambda frames, labels: (
        frames,
        labels[::-1].copy(),
    ),
    "labels are wrong": lambda frames, labels: (frames, labels + 1),
    "frames are those of the batch's recordings in another order": lambda frames, labels: (
        frames[::-1].copy(),
        labels,
    ),
    "frames are float64: float32 is asked for": lambda frames, labels: (
        frames.astype(np.float64),
        labels,
    ),
    "labels are int32: int64 is asked for": lambda frames, labels: (
        frames,
        labels.astype(np.int32),
    ),
    "frames are of shape (6, 249, 100) and labels of shape (6,): (6, 250, 100) and (6,) are asked for": lambda frames, labels: (
        frames[:, 1:],
        labels,
    ),
}


@pytest.mark.parametrize("words", OTHERS)
def test_other_faults_are_named(folders, words):
    asked = asked_of(folders, "ssc", [0] * 6)
    assert wrong_with(framing("ssc"), asked, *OTHERS[words](*answer(asked))) == words


@pytest.mark.parametrize(
    ("name", "channel", "place"),
    [("ssc", 42, "channel 42"), ("nmnist", 34 * 34 + 34 * 7 + 5, "polarity 1, y 7, x 5")],
)
def test_one_wrong_count_is_found_and_where_it_is(folders, name, channel, place):
    asked = asked_of(folders, name, [0] * 6)
    frames, labels = answer(asked, name)
    right = int(frames[3, 17, channel])
    frames[3, 17, channel] += 1
    said = wrong_with(framing(name), asked, frames, labels)
    assert said.endswith(f"first in item 3, step 17, {place}: {right + 1}, not {right}")


def test_labels_of_recordings_of_one_class_may_be_anybodys(folders):
    asked = replace(asked_of(folders, "ssc", [0] * 6), labels=np.full(6, 4))
    assert wrong_with(framing("ssc"), asked, *answer(asked)) is None
