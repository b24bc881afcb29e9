"""Vega as one script, for a page that loads nothing from elsewhere."""

from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version

import vl_convert

from ...common.files import cache_folder, write_atomically


@lru_cache(maxsize=1)
def vega_script() -> str:
    """Returns Vega, Vega-Lite and Vega-Embed as `window.vegaEmbed`. Bundling takes two seconds, so
    the result is cached in a file."""
    cached = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    try:
        return cached.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        script = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # its stub asks for a snippet
    with suppress(OSError):  # then the next report takes two seconds more
        write_atomically(cached, script)
    return script
