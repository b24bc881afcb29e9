"""Ranks over gloo in processes of their own, for what is computed by several together."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


def of_ranks(work: Callable[..., Any], count: int, folder: Path, *given: Any) -> list[Any]:
    """What `work(rank, count, *given)`, a function of a module, returned in each rank."""
    folder.mkdir(exist_ok=True)
    # torch for CUDA has threads after the first backward, so that no forked process can have one.
    method = "fork" if torch.version.cuda is None else "spawn"
    torch.multiprocessing.start_processes(
        _ranked, (count, str(folder), work, given), nprocs=count, start_method=method
    )
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(count)]


def _ranked(
    rank: int, count: int, folder: str, work: Callable[..., Any], given: tuple[Any, ...]
) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/met", rank=rank, world_size=count)
    torch.save(work(rank, count, *given), f"{folder}/{rank}.pt")
    dist.destroy_process_group()
