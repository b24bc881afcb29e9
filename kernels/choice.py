"""Which backend runs a call: the best that can on its device, or the one requested by name."""

import warnings
from collections.abc import Callable, Collection, Iterable


def choose(
    what: str,
    names: Iterable[str],
    known: Collection[str],
    unavailable: Callable[[str], str | None],
    requested: str | None,
    cannot: str,
    warn: bool,
) -> str:
    """`requested`, or the first of `names` that is available; the last is taken for available.

    `unavailable(name)` is why a backend cannot run the call, None if it can; `what` names the kernel in the warning, which says
    why a better backend does not run; `cannot` describes the call. Raises ValueError if `requested` is not `known`, and
    RuntimeError, with the reason, if it cannot run.
    """
    if requested is None:
        reasons = []
        for name in names:
            if not (reason := unavailable(name)):
                break
            reasons.append(reason)
        if reasons and warn:
            spelling = "plain torch" if name == "reference" else name
            warnings.warn(f"{what} as {spelling}: {'; '.join(reasons)}", stacklevel=3)
        return name
    if requested not in known:
        raise ValueError(f"backend = {requested!r} is not one of {', '.join(known)}")
    if reason := unavailable(requested):
        raise RuntimeError(f"backend {requested!r} cannot run {cannot}: {reason}")
    return requested
