"""Asks a program for gradients, and tells a backward that fails from one for which there is no room."""

from ..status import declared, is_out_of_memory


def gradients_of(program, result, upstream):
    """(gradients, None), or (None, why not): a wrong forward is named before the backward that fails because of it."""
    try:
        done = program.backward(result, upstream)
        program.wait(done)
        return program.gradients(done), None
    except Exception as error:
        if is_out_of_memory(error) or declared(error):
            raise
        return None, f"backward fails: {type(error).__name__}: {error}"
