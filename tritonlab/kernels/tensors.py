"""What launchers ask of their tensors: rows, memory, alignment, device."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

__all__ = ["as_rows", "elements", "on_device_of", "row_warps", "rows_aligned"]


def as_rows(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as [rows, columns], its last dimension kept, as a view of the same memory.

    ``ValueError`` for a tensor without dimensions, and for one of three or more whose leading dimensions
    cannot be folded into one without a copy.
    """
    if tensor.ndim == 0:
        raise ValueError(f"{name} must have at least 1 dimension; got a tensor of shape []")
    if tensor.ndim == 2:
        return tensor
    n_cols = tensor.shape[-1]
    try:
        return tensor.view(tensor.numel() // n_cols if n_cols else 0, n_cols)
    except RuntimeError:
        raise ValueError(
            f"the leading dimensions of {name} cannot be folded into rows without a copy; got shape {list(tensor.shape)} "
            f"with strides {list(tensor.stride())}; pass {name}.contiguous()"
        ) from None


def elements(tensor: torch.Tensor) -> int:
    """How many elements of memory a view reads: a broadcast (stride 0) dimension counts once."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        count *= size if stride or not size else 1
    return count


def rows_aligned(*tensors: torch.Tensor) -> bool:
    """Whether every row of these [rows, columns] or [columns] tensors can be read 16 bytes at a time.

    That takes what Triton looks for at a launch: a pointer that is a multiple of 16 bytes, a row stride and a
    width that are multiples of 16 elements, and neighbouring columns next to each other.
    """
    return all(
        t.data_ptr() % 16 == 0 and t.shape[-1] % 16 == 0 and t.stride(-1) == 1 and all(s % 16 == 0 for s in t.stride()[:-1])
        for t in tensors
    )


def row_warps(block: int) -> int:
    """Warps for a tile of ``block`` elements that one program holds at once.

    8 elements a thread up to 1,024, 16 up to 8,192, 32 beyond: enough loads in flight, and the threads still
    fit their share of the row in registers. At most 32 warps, the limit of a program.
    """
    if block <= 1024:
        return max(1, block // 256)
    return max(4, block // 512) if block <= 8192 else min(32, block // 1024)


def on_device_of(tensor: torch.Tensor) -> AbstractContextManager:
    """Makes the tensor's GPU the current one, for Triton launches on the current GPU; nothing for a CPU tensor."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
