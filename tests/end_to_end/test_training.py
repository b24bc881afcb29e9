"""A case that trains: what is found out behind the timing is in its record, and no overhead of
the harness."""

TRAINED = (
    'framework = ["torch"]\nworkload = ["mnist-mlp"]\nloss = ["spike-count"]\noptimizer = ["adam"]\n'
    'neurons = [31]\nimage = [9]\ntime_steps = [5]\nbatch = [3]\ndevice = ["cpu"]\n'
)
MEASURE = '[measure]\nblocks = 1\nmost_blocks = 1\npasses = 1\nslot = "5ms"\nthreads = 1\nphases = ["step", "optimizer"]\n'


def test_breakdown_and_curve_are_recorded_with_their_seconds(snnbench):
    config = snnbench.folder / "trained.toml"
    config.write_text(f'name = "trained"\n[grid]\n{TRAINED}{MEASURE}')
    ended = snnbench.run(config)
    (record,) = ended.records
    assert (ended.exit_code, record["status"]) == (0, "ok"), ended.stderr
    assert len(record["learning"]["loss"]) == 40 and record["breakdown"]["bytes"]["optimizer"] > 0
    for part in ("breakdown", "learning"):
        assert record["parts"][part]["seconds"] > 0
    apart = sum(record["parts"][part]["seconds"] for part in ("breakdown", "learning"))
    assert record["overhead_s"] < record["duration_s"] - apart
