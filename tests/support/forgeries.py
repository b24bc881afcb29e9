"""Forgeries, each with the kind of its fault and words of the fault's sentence."""

import json

from snnbench.core.case import Case

from . import forged_times as forged_times
from .forgery import FORGERIES as FORGERIES
from .forgery import claim_anew, faster, forgery, names_of, renamed, slots


@forgery("form", "keys in order")
def spelled_otherwise(forged):
    return forged.text(lambda lines: lines.__setitem__(3, lines[3].replace(",", ", ", 1)))


@forgery("form", "holds neither a plan")
def a_line_of_something_else(forged):
    return forged.text(lambda lines: lines.append('{"advertisement":"buy"}\n'))


@forgery("form", "not in the order")
def records_in_another_order(forged):
    return forged.text(lambda lines: lines.__setitem__(slice(-2, None), lines[:-3:-1]))


@forgery("size", "5001 records")
def too_many_records(forged):
    forged.records += [forged.refused()] * (5001 - len(forged.records))


@forgery("content", "is not what was bundled")
def a_line_edited_in_place(forged):
    return forged.text().replace('"exit_code":0', '"exit_code":1', 1)


@forgery("content", "is not what was bundled")
def somebody_else_measured_it(forged):
    return forged.text().replace('"by":"neuro"', '"by":"mallory"', 1)


@forgery("counts", "records 61")
def the_first_line_counts_more(forged):
    forged.said = {"records": 61}


@forgery("counts", "machines")
def another_kind_of_machine_is_named(forged):
    forged.said = {"machines": ["0" * 12]}


@forgery("schema", "medal is unknown")
def a_field_of_its_own(forged):
    forged.records[0]["medal"] = "gold"


@forgery("schema", "block = -1")
def a_number_out_of_range(forged):
    forged.records[0]["block"] = -1


@forgery("private", "reason")
def a_path_in_a_reason(forged):
    forged.refused()["reason"] = "see /home/alice/notes.txt"


@forgery("private", "traceback")
def a_field_that_stays_at_home(forged):
    forged.refused()["traceback"] = "Traceback"


@forgery("case id", "the case's own is")
def a_smaller_case_under_the_id_of_a_larger(forged):
    forged.timed("norse")["case"]["neurons"] = 97


@forgery("done key", "that of its own versions")
def another_setting_under_the_same_key(forged):
    forged.timed("norse")["measure"]["passes"] = 9


@forgery("machine", "machine.hash")
def another_processor(forged):
    forged.timed("norse")["machine"]["cpu"] = "AMD EPYC 9965"


@forgery("machine", "no GPU")
def a_device_that_is_not_there(forged):
    renamed(forged.timed("norse"), device="cuda")


@forgery("version", "is not among its packages")
def a_newer_version_of_the_framework(forged):
    forged.timed("norse")["adapter"]["version"] = "9.9.9"


@forgery("version", "verify with that")
def a_snnbench_that_is_newer(forged):
    forged.records[0]["snnbench"] = "99.0"


@forgery("status", "the part proof ended as check_failed")
def a_refused_case_is_called_ok(forged):
    forged.timed("norse")["parts"]["proof"]["status"] = "check_failed"


@forgery("status", "makes it ok")
def a_rival_is_called_failed(forged):
    record = forged.timed("snntorch")
    record |= {"status": "crash", "reason": "killed by SIGKILL in part 'step'"}


@forgery("verdict", "its stages say something else")
def a_failed_stage_in_a_passed_proof(forged):
    forged.timed("norse")["proof"]["stages"][0]["passed"] = False


@forgery("verdict", "passed, with findings")
def findings_in_a_passed_stage(forged):
    forged.timed("norse")["proof"]["stages"][0]["findings"] = ["7.52 % of the decisions are wrong"]


@forgery("verdict", "not the largest")
def the_largest_error_is_hidden(forged):
    forged.timed("norse")["proof"]["stages"][0]["grad_error"] = 1e-9


@forgery("tolerance", "wrong_decisions")
def decisions_beyond_the_limit(forged):
    forged.timed("norse")["proof"]["stages"][0]["wrong_decisions"] = 0.0752


@forgery("tolerance", "gradient of weight")
def a_gradient_beyond_the_limit(forged):
    stage = forged.timed("norse")["proof"]["stages"][-1]
    stage["errors"]["weight"] = stage["grad_error"] = 0.01


@forgery("stages", "lacks the stage 'small problem, fp32, time axis'")
def a_stage_is_left_out(forged):
    stages = forged.timed("norse")["proof"]["stages"]
    stages[:] = [stage for stage in stages if "time axis" not in stage["name"]]


@forgery("stages", "is proved at")
def proved_at_a_smaller_size(forged):
    forged.timed("norse")["proof"]["stages"][-1]["neurons"] = 31


@forgery("unproved", "no proof")
def times_without_a_proof(forged):
    del forged.timed("norse")["proof"]


@forgery("moment", "in the future")
def measured_next_year(forged):
    forged.records[0]["started_at"] = "2028-01-01T00:00:00+00:00"


@forgery("moment", "began before an earlier one")
def blocks_in_another_order(forged):
    forged.timed("norse")["started_at"] = "2026-12-24T00:00:00+00:00"


@forgery("blocks", "lacks block 2 of 3")
def the_slowest_block_is_left_out(forged):
    forged.records.remove(forged.timed("norse", 1))


@forgery("blocks", "its passes do not show that")
def the_fastest_is_said_to_have_left(forged):
    record = forged.timed("fused")
    forged.records = [
        one for one in forged.records if one["case_id"] != record["case_id"] or one is record
    ]
    record["measure"]["leave_beyond"] = record["parts"]["step"]["timing"]["beyond"] = 1.2
    del slots(record)[1:]


@forgery("missing", "was planned and has no record")
def a_case_that_lost_is_left_out(forged):
    forged.planned = names_of(forged)
    forged.records = [record for record in forged.records if record["case"]["framework"] != "norse"]


@forgery("missing", "was planned and has no record")
def one_is_left_out_where_there_is_no_plan(forged):
    """The experiment's grid is the plan then."""
    case = forged.timed("norse")["case_id"]
    forged.records = [record for record in forged.records if record["case_id"] != case]
    claim_anew(forged)


@forgery("unplanned", "was not planned")
def a_case_from_elsewhere(forged):
    forged.planned = {
        case: name for case, name in names_of(forged).items() if not name.startswith("norse")
    }


@forgery("unplanned", "is not in the experiment's grid")
def an_experiment_of_other_sizes(forged):
    forged.planned = names_of(forged)
    forged.experiment["grid"]["time_steps"] = [500]


@forgery("schema", "is of a user's own network, which no bundle contains")
def a_network_of_their_own(forged):
    record = forged.timed("norse")
    own = {
        name: value
        for name, value in record["case"].items()
        if name not in ("layers", "neurons", "bias")
    }
    record["case"] = {**own, "workload": "network", "network": "theirs@0123456789abcdef"}
    record["case_id"] = Case.from_dict(record["case"]).id


@forgery("twice", "4 records of 3 blocks")
def the_best_of_two(forged):
    record = json.loads(json.dumps(forged.timed("norse")))
    faster(record, 0.9)
    forged.records.append(record)


@forgery("time", "step_s")
def a_claimed_time(forged):
    next(result for result in forged.results if result["variant"] == "norse")["step_s"] *= 0.9


@forgery("time", "has a result line, but no records")
def a_claim_of_nothing(forged):
    forged.results.append(
        {
            "case_id": "0" * 16,
            "variant": "mine",
            "set": "mine",
            "step_s": 1e-6,
            "rank_low": 1,
            "rank_high": 1,
        }
    )


@forgery("rank", "rank_low = 1")
def a_claimed_rank(forged):
    next(result for result in forged.results if result.get("rank_low", 1) > 1)["rank_low"] = 1
