"""Vega as one script, for a page that asks nobody for anything."""

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import vl_convert

from ...files import write_atomically


@lru_cache(maxsize=1)
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed, as `window.vegaEmbed`. Bundling takes two seconds, so that the result is kept."""
    wanted = os.environ.get("SNNBENCH_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "snnbench"
    kept = Path(wanted).expanduser() / f"vega-{vl_convert.__version__}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        script = vl_convert.javascript_bundle()
    with suppress(OSError):  # then the next report takes two seconds more
        write_atomically(kept, script)
    return script
