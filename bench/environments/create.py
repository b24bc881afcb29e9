"""Creates, updates or mends an environment. What is finished is kept, so that the same command goes on whatever ended it."""

import json
from collections.abc import Iterator

import snnbench
from snnbench.adapters import registry

from ..common.files import write_atomically
from ..core.jobs import Inquiry
from . import requirements
from .damage import ask_environment, damage
from .environment import MARKER, Environment, NotMade, discard, locked
from .install import CreationProgress, install
from .link import link, locations


def create(environment: Environment) -> Iterator[CreationProgress]:
    """Make, update or mend an environment. Raises NotMade, or ConfigError if another command is making or removing it."""
    try:
        with locked(environment):
            if environment.state()[0] == "ready":
                if not (damages := damage(environment)):
                    return
                yield CreationProgress("damaged", line="; ".join(damages))
                discard(environment)
            if unmet := requirements.unmet_before(environment.recipe.needs):
                raise NotMade(f"{environment.name} needs {unmet}")
            (environment.folder / MARKER).unlink(missing_ok=True)
            yield from install(environment)
            link(environment.site_packages)
            _check_adapters(environment)
            marker = {
                "steps": environment.recipe.keys,
                "source": locations(),
                "snnbench": snnbench.__version__,
            }
            marker["beneath"] = [*environment.beneath]
            write_atomically(environment.folder / MARKER, json.dumps(marker, indent=1) + "\n")
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise NotMade(
            f"{environment.name}: {error.strerror or error}{where}; what is finished is kept"
        ) from None


def _check_adapters(environment: Environment) -> None:
    """Raise NotMade for an environment in which an adapter that it serves lacks something. A version may lack modules of its own:
    what it cannot do then, its cases say."""
    references = registry.references()
    served = [references[name] for name in environment.recipe.adapters if name in references]
    if not served:
        return
    for entry in ask_environment(environment, Inquiry(tuple(served)))["adapters"]:
        missing = [
            name for name in entry.get("missing", ()) if not (environment.beneath and "." in name)
        ]
        if "error" in entry or missing:
            lack = entry.get("error") or f"{', '.join(missing)} is not there"
            raise NotMade(
                f"{environment.name}: every step went well, but for {entry.get('name', entry['reference'])}: {lack}"
            )
