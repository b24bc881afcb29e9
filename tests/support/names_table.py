"""Generates the tables of docs/neurons.md from the table of names in `snnbench.adapters.names`."""

import inspect
import itertools
from math import isclose, pi

from snnbench.adapters.names import NAMES, WITHOUT, norse
from snnbench.experiment.named import lines_of, neurons_of, read_named
from snnbench.experiment.values import neuron_table
from snnbench.kernels.spec import SURROGATES
from snnbench.report.tables.markdown import line

EXAMPLES = {"beta": 0.9, "alpha": 0.8, "gamma": 0.95, "tau_mem": 20.0}
"""Values of arguments without a default."""
REQUIRED = {"ParametricLIFNode": {"decay_input": False}}
"""Arguments without which a neuron has no equation."""
FORMS = {
    "{k}": lambda k: k,
    "{2k}": lambda k: 2 * k,
    "{k/2}": lambda k: k / 2,
    "{1/k}": lambda k: 1 / k,
    "0.5": lambda k: 0.5,
}
"""Arguments of surrogates as functions of our slope k."""
SLOPES = (1, 2, 4, 0.5, 25)
NORSE = {f'method="{method}"': function for method, function in norse.METHODS.items()}


class Symbol(str):
    """A formula that multiplies and divides as text."""

    def __mul__(self, other):
        return (
            self
            if other == 1
            else Symbol(f"{self}·{other:g}" if not isinstance(other, str) else f"{self}·{other}")
        )

    def __rmul__(self, other):
        return Symbol(f"{other:g}·{self}")

    def __truediv__(self, other):
        return Symbol(f"{self}/{other:g}")

    def __rtruediv__(self, other):
        return Symbol(f"{other:g}/{self}")


def table(heads, rows):
    return "\n".join(map(line, [heads, [":--"] * len(heads), *rows])) + "\n"


def names_text(subject: str) -> str:
    return {"neurons": neurons_text, "surrogates": surrogates_text, "spellings": spellings_text}[
        subject
    ]()


def neurons_text() -> str:
    """Returns every neuron with its defaults as an equation and as a table of a config."""
    rows = []
    for framework in NAMES:
        neurons = neurons_of(framework)
        for name, function in neurons.items():
            if name != function.__name__:
                continue  # another name of the same neuron
            others = [each for each in neurons if neurons[each] is function and each != name]
            parameters = inspect.signature(function).parameters
            values = {
                key: EXAMPLES[key] for key, each in parameters.items() if each.default is each.empty
            }
            values |= REQUIRED.get(name, {})
            text = f"{framework}.{name}({', '.join(f'{key}={value}' for key, value in values.items())})"
            (words,) = lines_of([text])
            rows.append(
                [
                    ", ".join([f"`{text}`", *(f"`{each}`" for each in others)]),
                    f"{words.removeprefix(text + ': ')}. {function.__doc__}",
                    f"`{neuron_table(read_named(text).spec)}`",
                ]
            )
    rows += [[f"`{name}`", f"not read: {reason}", ""] for name, reason in WITHOUT.items()]
    return table(["in the framework, with its defaults", "here", "as a table"], rows)


def surrogates_of():
    """Yields (framework, its name, function) of each surrogate."""
    for framework, names in NAMES.items():
        known = NORSE if framework == "norse" else names
        for name, function in known.items():
            if hasattr(function, "__wrapped__"):
                yield framework, name, function.__wrapped__


def surrogates_text() -> str:
    """Returns every surrogate of the frameworks in terms of ours."""
    rows = []
    for framework, name, function in surrogates_of():
        parameters = inspect.signature(function).parameters
        defaults = {key: each.default for key, each in parameters.items()}
        symbols = function(**{key: Symbol(key) for key in parameters})
        numbers = function(**defaults)
        words = ", ".join(f"{key}={value:g}" for key, value in defaults.items())
        rows.append(
            [
                framework,
                f"`{name}, {words}`" if framework == "norse" else f"`{name}({words})`",
                f"`{symbols.name}`",
                _value(symbols.slope, numbers.slope),
                _value(symbols.height, numbers.height),
            ]
        )
    return table(
        ["framework", "surrogate, with its defaults", "here", "`slope`", "times as high"], rows
    )


def _value(formula, number) -> str:
    number = "1/π" if isclose(number, 1 / pi) else f"{number:g}"
    return f"{formula} = {number}" if isinstance(formula, str) else number


def spellings_text() -> str:
    """Returns for each surrogate here its spelling in each framework, where the height is the
    same."""
    frameworks = list(NAMES)
    cells = {(ours, framework): [] for ours in SURROGATES for framework in frameworks}
    for framework, name, function in surrogates_of():
        parameters = inspect.signature(function).parameters
        for forms in itertools.product(FORMS, repeat=len(parameters)):
            fits = [
                k
                for k in SLOPES
                if _is_ours(function, dict(zip(parameters, forms, strict=True)), k)
            ]
            ours = function(**{key: 1.0 for key in parameters}).name
            if len(fits) == len(SLOPES):
                words = ", ".join(
                    f"{key}={form.strip('{}')}" for key, form in zip(parameters, forms, strict=True)
                )
                cells[ours, framework] = [f"`{name}({words})`"]
                break
        else:
            cells[ours, framework] += [
                f"k = {k:g}: {text}" for k, text in _single(framework, name, function)
            ]
    rows = [
        [f"`{ours}`, k", *("; ".join(cells[ours, framework]) for framework in frameworks)]
        for ours in SURROGATES
    ]
    return table(["here", *frameworks], rows)


def _is_ours(function, forms, k) -> bool:
    """Returns True if the framework's surrogate is ours of slope k."""
    theirs = function(**{key: FORMS[form](k) for key, form in forms.items()})
    return isclose(theirs.slope, k) and isclose(theirs.height, 1)


def _single(framework, name, function):
    """Yields (k, spelling) for the slopes with which a surrogate without free slope is ours."""
    parameters = inspect.signature(function).parameters
    for k in SLOPES:
        for forms in itertools.product(FORMS, repeat=len(parameters)):
            if _is_ours(function, dict(zip(parameters, forms, strict=True)), k):
                words = ", ".join(
                    f"{key}={FORMS[form](k):g}" for key, form in zip(parameters, forms, strict=True)
                )
                without = name == 'method="super"'
                yield (
                    k,
                    f"`{name}`"
                    if without
                    else f"`{name}, {words}`"
                    if framework == "norse"
                    else f"`{name}({words})`",
                )
                break
