"""The tensors of a case, each inside an allocation of its own with guard bands around it.

What lies beside a tensor and between its strided elements is NaN (the largest value for integers): reading it
spoils the result, and a change of it is seen afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .problem import Case, TensorSpec

__all__ = ["Built", "build", "poison", "to_numpy"]

BAND = 32
_SPECIAL = (float("inf"), 0.0, float("nan"), -0.0, float("-inf"), 1e30, -1e30, 1e-30, 65504.0, -1.5)


def poison(dtype: torch.dtype) -> Any:
    """What guard bands and fresh outputs hold: NaN, the largest integer, or True."""
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    return True if dtype == torch.bool else torch.iinfo(dtype).max


@dataclass(frozen=True, eq=False)
class Built:
    """A case's arguments, the allocations behind its tensors, and copies of both from before the call."""

    args: tuple[Any, ...]
    bases: tuple[Any, ...]
    before: tuple[Any, ...]

    def pristine(self) -> tuple[Any, ...]:
        """The arguments as they were before the call, each in memory of its own with the same strides."""
        out = []
        for a, base, saved in zip(self.args, self.bases, self.before):
            out.append(saved.as_strided(a.shape, a.stride(), a.storage_offset()) if isinstance(a, torch.Tensor) else a)
        return tuple(out)

    def changed(self) -> tuple[tuple[int, bool], ...]:
        """(position, whether its own elements changed) of each argument whose allocation changed; False: only the bands."""
        found = []
        for i, (a, base, saved) in enumerate(zip(self.args, self.bases, self.before)):
            if isinstance(a, torch.Tensor) and not _same_bits(base, saved):
                found.append((i, not _same_bits(a, saved.as_strided(a.shape, a.stride(), a.storage_offset()))))
        return tuple(found)


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.detach().reshape(-1).contiguous().view(torch.uint8), b.reshape(-1).contiguous().view(torch.uint8))


def build(case: Case, seed: int = 0) -> Built:
    """The arguments of a case; the same ones for the same seed."""
    generator = torch.Generator().manual_seed(1000 + seed)
    args, bases, before = [], [], []
    for a in case.args:
        if isinstance(a, TensorSpec):
            tensor, base = _tensor(a, generator)
            args.append(tensor)
            bases.append(base)
            before.append(base.clone())
        else:
            args.append(a)
            bases.append(None)
            before.append(None)
    return Built(tuple(args), tuple(bases), tuple(before))


def _tensor(s: TensorSpec, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = getattr(torch, s.dtype)
    view, base = _layout(s, dtype)
    if s.layout == "expanded":
        view.as_strided((1, *s.shape[1:]), (1, *view.stride()[1:])).copy_(_values(s, generator, (1, *s.shape[1:])).to(dtype))
    else:
        view.copy_(_values(s, generator, s.shape).to(dtype))
    return view, base


def _layout(s: TensorSpec, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    shape, last = s.shape, (s.shape[-1] if s.shape else 1)
    if s.layout == "contiguous":
        inner, cut = shape, lambda t: t
    elif s.layout == "every second":
        inner, cut = (*shape[:-1], 2 * last), lambda t: t[..., ::2]
    elif s.layout == "wide rows":
        inner, cut = (*shape[:-1], last + 3), lambda t: t[..., :last]
    elif s.layout == "column" and len(shape) == 1:
        inner, cut = (last, 3), lambda t: t[:, 1]
    elif s.layout == "transposed" and len(shape) == 2:
        inner, cut = (shape[1], shape[0]), lambda t: t.t()
    elif s.layout == "expanded" and shape:
        inner, cut = (1, *shape[1:]), lambda t: t.expand(shape)
    else:
        raise ValueError(f"layout {s.layout!r} does not fit the shape {shape}")
    n = int(np.prod(inner, dtype=np.int64))
    base = torch.full((n + 2 * BAND,), poison(dtype), dtype=dtype)
    return cut(base[BAND : BAND + n].view(inner)), base


def _values(s: TensorSpec, generator: torch.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    n = int(np.prod(shape, dtype=np.int64))
    if callable(s.values):
        return s.values(generator, shape)
    if s.values == "index":
        return torch.arange(n, dtype=torch.float64).reshape(shape)
    if s.values == "ones":
        return torch.ones(shape, dtype=torch.float64)
    # Not exactly representable in 16 bits would only add rounding; a bool or integer tensor gets small integers.
    dtype = getattr(torch, s.dtype)
    if not dtype.is_floating_point:
        return torch.randint(0, 2 if dtype == torch.bool else 100, shape, generator=generator).double()
    x = torch.randn(n, dtype=torch.float64, generator=generator)
    if s.values == "random":
        pass
    elif s.values == "positive":
        x = x.abs() + 0.5
    elif s.values == "large":
        x = torch.where(x > 0, 80.0, -80.0) + x
    elif s.values == "low":
        x = x - 200.0
    elif s.values == "special":
        shift = int(torch.randint(0, len(_SPECIAL), (1,), generator=generator))
        for k in range(0, n, 2):
            x[k] = _SPECIAL[(k // 2 + shift) % len(_SPECIAL)]
    else:
        raise ValueError(f"values {s.values!r} is none of random, special, ones, index, positive, large, low")
    return x.reshape(shape)


def to_numpy(t: torch.Tensor) -> np.ndarray:
    """A tensor's values as NumPy float64 (or its integer type), in the tensor's shape."""
    t = t.detach().cpu()
    return (t.double() if t.dtype.is_floating_point else t).numpy()
