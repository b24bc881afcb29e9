"""The frames of the proof are tonic's, and what is wrong with delivered ones is named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.recordings import data_case, frames_of_tonic, sounds
from tonic import transforms

from snnbench.data.datasets import CHANNELS, DATA_SETS, LONGEST_US, window_us
from snnbench.data.recordings import Recordings
from snnbench.proof.frames import FAULTS, PROVED, Asked, Framing, wrong_with
from snnbench.worker.judging_data import framing_of

EVENTS = np.dtype([("t", "i8"), ("x", "i8"), ("p", "i8")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return sounds(tmp_path_factory.mktemp("ssc"), "ssc", PROVED)


def test_frames_of_1024_recordings_are_those_of_tonic(folder):
    case = data_case("tonic", "naive", samples=PROVED, time_steps=250)
    framing, events = framing_of(case), Recordings(DATA_SETS["ssc"].file(folder)).events(PROVED)
    assert PROVED == 1024
    for one, (frames, _) in zip(events, frames_of_tonic(folder, case), strict=True):
        ours = framing.frames(one)
        assert np.array_equal(ours[: len(frames)], frames) and not ours[len(frames) :].any()


@given(
    st.lists(st.tuples(st.integers(0, 1_300_000), st.integers(0, 699)), min_size=1, max_size=50),
    st.sampled_from([1, 2, 37, 250, 999]),
)
def test_any_events_become_the_frames_that_tonic_makes(events, steps):
    events = np.array(sorted(events), np.int64)
    assume((events[:, 0] <= LONGEST_US).any())
    given_events = np.zeros(len(events), EVENTS)
    given_events["t"], given_events["x"] = events[:, 0], events[:, 1]
    window = window_us(steps)
    frames = transforms.Compose(
        [
            transforms.Downsample(spatial_factor=CHANNELS / 700),
            transforms.CropTime(max=LONGEST_US),
            transforms.ToFrame(sensor_size=(CHANNELS, 1, 1), time_window=window, include_incomplete=True),
        ]
    )(given_events)[:, 0]
    ours = Framing(steps, CHANNELS, 700, window, LONGEST_US).frames((events[:, 0].astype(np.float64), events[:, 1]))
    assert np.array_equal(ours[: len(frames)], frames[:steps]) and not ours[len(frames) :].any()


def asked_of(folder, shifts, count=6):
    """The recordings begin after 200 ms of silence, so that their origin and their end matter."""
    recordings = Recordings(DATA_SETS["ssc"].file(folder))
    return Asked([(t + 200_000, x) for t, x in recordings.events(count)], recordings.labels[:count], shifts)


FRAMING = framing_of(data_case("frames", "uint8", time_steps=250))
SHIFTS = [1, -5, 0, 3, 5, -2]


def answer(asked):
    return asked.frames(FRAMING).astype(np.float32), asked.labels.copy()


@pytest.mark.parametrize("shifts", [[0] * 6, SHIFTS], ids=["as it is", "augmented"])
def test_right_batches_pass(folder, shifts):
    asked = asked_of(folder, shifts)
    assert wrong_with(FRAMING, asked, *answer(asked)) is None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(folder, fault):
    asked = asked_of(folder, SHIFTS if "shift" in fault or "leaves" in fault else [0] * 6)
    wrong = FAULTS[fault](FRAMING, asked).astype(np.float32)
    assert wrong_with(FRAMING, asked, wrong, asked.labels) == fault


OTHERS = {
    "labels are those of other recordings of the batch": lambda frames, labels: (frames, labels[::-1].copy()),
    "labels are wrong": lambda frames, labels: (frames, labels + 1),
    "frames are those of the batch's recordings in another order": lambda frames, labels: (frames[::-1].copy(), labels),
    "frames are float64: float32 is asked for": lambda frames, labels: (frames.astype(np.float64), labels),
    "frames are of shape (6, 249, 100) and labels of shape (6,): (6, 250, 100) and (6,) are asked for": lambda frames, labels: (
        frames[:, 1:],
        labels,
    ),
}


@pytest.mark.parametrize("words", OTHERS)
def test_other_faults_are_named(folder, words):
    asked = asked_of(folder, [0] * 6)
    assert wrong_with(FRAMING, asked, *OTHERS[words](*answer(asked))) == words


def test_one_wrong_count_is_found_and_where_it_is(folder):
    asked = asked_of(folder, [0] * 6)
    frames, labels = answer(asked)
    right = int(frames[3, 17, 42])
    frames[3, 17, 42] += 1
    said = wrong_with(FRAMING, asked, frames, labels)
    assert said.endswith(f"first in item 3, step 17, channel 42: {right + 1}, not {right}")


def test_labels_of_recordings_of_one_class_may_be_anybodys(folder):
    asked = replace(asked_of(folder, [0] * 6), labels=np.full(6, 4))
    assert wrong_with(FRAMING, asked, *answer(asked)) is None
