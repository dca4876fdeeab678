"""What launchers refuse, in words: each error names the argument and shows what it was given."""

from __future__ import annotations

import torch

__all__ = ["check_block", "check_dtype", "check_no_overlap", "check_positive", "check_same_device", "check_tensors"]


def check_tensors(**tensors: object) -> None:
    """Each is a dense tensor on the CPU or a CUDA GPU; ``TypeError`` or ``ValueError`` names the first that is not."""
    for name, value in tensors.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor; got {type(value).__name__}")
        if value.layout is not torch.strided:
            raise TypeError(f"{name} must be a dense tensor; got layout {value.layout}")
        if value.device.type not in ("cpu", "cuda", "meta"):  # meta: to compile for a launch that never runs
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


def check_block(name: str, value: object, at_least: int = 1) -> None:
    """A block size is a power of two of at least ``at_least``; ``ValueError`` or ``TypeError`` shows what it is."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int; got {value!r}")
    if value < 1 or value & (value - 1):
        raise ValueError(f"{name} must be a power of two, as tl.arange needs it; got {value}")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least} here; got {value}")


def check_positive(name: str, value: object) -> None:
    """A count of at least 1; ``ValueError`` or ``TypeError`` shows what it is."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int; got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1; got {value}")
