"""What launchers refuse, in words: each error names the argument and shows what it was given."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

__all__ = ["as_rows", "check_dtype", "check_no_overlap", "check_same_device", "check_tensors", "elements", "next_power_of_2", "on_device_of"]


def check_tensors(**tensors: object) -> None:
    """Each is a dense tensor on the CPU or a CUDA GPU; ``TypeError`` or ``ValueError`` names the first that is not."""
    for name, value in tensors.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor; got {type(value).__name__}")
        if value.layout is not torch.strided:
            raise TypeError(f"{name} must be a dense tensor; got layout {value.layout}")
        if value.device.type not in ("cpu", "cuda"):
            raise ValueError(f"{name} must be on the CPU or a CUDA GPU; got device {value.device}")


def check_same_device(**tensors: torch.Tensor) -> None:
    """All tensors are on one device; ``ValueError`` names the first two that are not."""
    (first, reference), *rest = tensors.items()
    for name, tensor in rest:
        if tensor.device != reference.device:
            raise ValueError(f"all tensors must be on one device; {first} is on {reference.device} and {name} on {tensor.device}")


def check_dtype(allowed: tuple[torch.dtype, ...], **tensors: torch.Tensor) -> None:
    """Each tensor's dtype is allowed; ``TypeError`` names the first that is not."""
    for name, tensor in tensors.items():
        if tensor.dtype not in allowed:
            names = ", ".join(str(d).removeprefix("torch.") for d in allowed)
            raise TypeError(f"{name} must be one of {names}; got {tensor.dtype}")


def check_no_overlap(**tensors: torch.Tensor) -> None:
    """No two elements of an output lie at one address, as they would in an expanded view; ``ValueError`` if they do."""
    for name, tensor in tensors.items():
        if any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride())):
            raise ValueError(
                f"{name} is written, so its elements must not share memory; got an expanded view of shape "
                f"{list(tensor.shape)} with strides {list(tensor.stride())}"
            )


def as_rows(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as [rows, columns], its last dimension kept, as a view of the same memory.

    ``ValueError`` for a tensor without dimensions, and for one of three or more whose leading dimensions
    cannot be folded into one without a copy.
    """
    if tensor.ndim == 0:
        raise ValueError(f"{name} must have at least 1 dimension; got a tensor of shape []")
    if tensor.ndim == 2:
        return tensor
    rows = tensor.numel() // tensor.shape[-1] if tensor.shape[-1] else 0
    try:
        return tensor.view(rows, tensor.shape[-1])
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


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least ``n`` and at least 1."""
    return 1 << max(0, n - 1).bit_length()


def on_device_of(tensor: torch.Tensor) -> AbstractContextManager:
    """Makes the tensor's GPU the current one, for Triton launches on the current GPU; nothing for a CPU tensor."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
