"""Asks a program for gradients, and tells a backward that fails from one for which there is no room."""

from typing import Any

from snnbench.adapters.base.contract import Gradients, Program

from ..status import declared, is_out_of_memory


def ask_gradients(program: Program, result: Any, upstream: Any) -> tuple[Gradients | None, str | None]:
    """(gradients, None), or (None, why not): a wrong forward is named before the backward that fails because of it."""
    try:
        done = program.backward(result, upstream)
        program.wait(done)
        return program.gradients(done), None
    except Exception as error:
        if is_out_of_memory(error) or declared(error):
            raise
        return None, f"backward fails: {type(error).__name__}: {error}"
