"""Verbs import only what they need."""

import subprocess
import sys

ONE_VERB = """
import sys
from snnbench.cli import run_command
try:
    run_command(["env", "list", "--json"])
except SystemExit:
    pass
print([name for name in sys.modules if name.startswith(("snnbench.report", "snnbench.cli.run", "scipy", "jinja2"))])
"""


def test_a_verb_imports_no_other():
    done = subprocess.run(
        [sys.executable, "-c", ONE_VERB], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
