"""Names the one fault that explains all of the framework's gradients."""

import numpy as np

from .arrays import scaled_alike
from .backward import BACKWARD_CONSTANTS, backward_faults, cut_off, of_calls
from .constants import Constant, constants_of, slopes
from .fitting import fit_gradients, gradients_of, misfit_of, misfits
from .hypotheses import ROUNDINGS, Evidence, attachments, roundings

FAR_BETTER, BETTER = 0.02, 0.3
"""Share of the right network's misfit that a fault may leave: computed exactly, and with
emulated rounding."""


def of_gradients(e: Evidence, forward_right: bool) -> str | None:
    """Names the fault that explains the framework's gradients; faults of the backward alone are
    tried only if the forward is right."""
    right = gradients_of(e, e.right)
    if not right or any(
        e.gradients[name].shape != g.shape or not np.isfinite(e.gradients[name]).all()
        for name, g in right.items()
    ):
        return None
    errors = misfits(e, right)
    before, steps, tried = max(errors), len(e.right.currents), []
    if before <= 1:
        return None
    if min(errors) > 1:  # a gradient by the currents that is wrong spoils all three
        cuts = [k for k in (*range(1, 65), 100, 128, 200, 250, 256, 500) if k < steps]
        tried += [(misfit_of(e, h), text) for text, h in attachments(e)]
        tried += [(misfit_of(e, e.right, cut=k), f"the gradient is cut {_every(k)}") for k in cuts]
        if forward_right:
            tried += [(misfit_of(e, h), text) for text, h in backward_faults(e)]
            tried += of_calls(e, right)
        slope, *others = slopes(e)
        backward = BACKWARD_CONSTANTS if forward_right and not scaled_alike(e, right) else ()
        for constants in ((), (slope, *constants_of(e)), backward, others):
            fits = [(*fit_gradients(e, constant), constant) for constant in constants]
            fits = [fit for fit in fits if reads_wrong(e, fit[2], fit[1])]
            tried += [(misfit, worded(e, constant, p, misfit)) for misfit, p, constant in fits]
            misfit, text = first_best(tried)
            if misfit <= 1:
                return text
        tried += cut_off(e) if forward_right else ()
        misfit, text = first_best(tried)
        if misfit <= max(1, FAR_BETTER * before):
            return text
    tried = [
        (misfit_of(e, e.right, rounded=short), f"multiplies in {name} in the backward")
        for name, short in ROUNDINGS.items()
    ]
    for name, text, h in roundings(e):
        tried += [(misfit_of(e, h, rounded=ROUNDINGS[name]), text), (misfit_of(e, h), text)]
    misfit, text = first_best(tried)
    return text if misfit <= BETTER * before else None


def first_best(scores: list[tuple[float, str]]) -> tuple[float, str]:
    """Returns the first of the best (misfit, text): later ones must be clearly better, because
    TF32 and fp16 can look alike."""
    lowest = min((score for score, _ in scores), default=np.inf)
    return next((pair for pair in scores if pair[0] <= 1.1 * lowest), (np.inf, ""))


def _every(steps: int) -> str:
    return "at every step" if steps == 1 else f"every {steps} steps"


def reads_wrong(e: Evidence, constant: Constant, p: float) -> bool:
    """Tells if a sentence that shows p beside the right value shows another number."""
    return "{p}, not {right}" not in constant.text or f"{p:.6g}" != f"{constant.right(e):.6g}"


def worded(e: Evidence, constant: Constant, p: float, misfit: float | None = None) -> str:
    """Returns the text with p, for a misfit of gradients with the fewest digits that stay within
    the limits."""
    if misfit is not None and misfit <= 1:
        shorter = (float(f"{p:.{digits}g}") for digits in range(1, 7))
        p = next(
            (
                q
                for q in shorter
                if q > constant.lowest and misfit_of(e, constant.supposed(e, q)) <= 1
            ),
            p,
        )
    return constant.text.format(p=f"{p:.6g}", right=f"{constant.right(e):.6g}")
