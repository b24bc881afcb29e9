"""An adapter that tells the user and the machine, and gives orders to terminals, in every text
that it can set."""

import os
import sys

from numpy_network import NumpyNetwork, NumpyProgram

TELLS = f"\x1b[31m{os.environ.get('HOME')}/secret of {os.environ.get('USER')}\u202e\x9b1m\ud800"


class TellingProgram(NumpyProgram):
    def facts(self, result):
        print(TELLS.encode("utf-8", "replace"), os.environ.get("HOME"), file=sys.stderr)
        return {"output_dtype": TELLS, TELLS: TELLS, "backend": TELLS, "warnings": [TELLS]}


class RaisingProgram(TellingProgram):
    def inference(self, x):
        raise ValueError(TELLS)


class Tells(NumpyNetwork):
    name = "tells"
    program_class = TellingProgram


class TellsWhy(NumpyNetwork):
    name = "tells-why"

    def supports(self, case):
        return TELLS


class TellsLate(NumpyNetwork):
    name = "tells-late"
    program_class = RaisingProgram


class TellsAtOnce(NumpyNetwork):
    name = "tells-at-once"

    def prepare(self, case, threads):
        print(
            TELLS.encode("utf-8", "replace"),
            os.environ.get("HOME"),
            os.environ.get("USER"),
            file=sys.stderr,
        )
        os._exit(1)
