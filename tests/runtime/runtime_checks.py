"""What the runtime's tests share: a launch that must stay right, a compilation that must stay possible, and an arena of bytes."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tritonlab  # noqa: F401  (routes launches)

LANGUAGE = (tl, tl.core, tl.tensor, tl.math, tl.dtype, tl.semantic.TritonSemantic)


def _attributes(obj: Any) -> dict[str, Any]:
    made_by_looking = ("__annotations__", "__warningregistry__")
    return {k: v for k, v in vars(obj).items() if k not in made_by_looking}


BEFORE = [_attributes(obj) for obj in LANGUAGE]


@triton.jit
def good_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2, mask=mask)


def still_right() -> None:
    x = torch.arange(10, dtype=torch.float32)
    out = torch.full((10,), -1.0)
    good_kernel[(2,)](x, out, 10, BLOCK=8)
    assert torch.equal(out, x * 2)


def still_compiles() -> None:
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    made = triton.compile(ASTSource(good_kernel, signature, {"BLOCK": 8}), target=GPUTarget("cuda", 90, 32))
    assert "ld.global" in made.asm["ptx"]


def language_is_back() -> None:
    for obj, before in zip(LANGUAGE, BEFORE):
        after = _attributes(obj)
        assert after.keys() == before.keys(), obj
        changed = [name for name in before if after[name] is not before[name]]
        assert not changed, (obj, changed)


class Arena:
    """Tensors side by side in one allocation full of a pattern, so that any stray byte shows."""

    def __init__(self) -> None:
        self.buffer = torch.arange(1 << 14, dtype=torch.int32).view(torch.uint8).clone()
        self.next = 4096

    def take(self, *shape: int, dtype: torch.dtype = torch.float32, values: Any = None, gap: int = 64) -> torch.Tensor:
        """A contiguous tensor somewhere in the buffer, 16 bytes aligned, holding ``values`` if given."""
        n = 1
        for s in shape:
            n *= s
        size = torch.empty(0, dtype=dtype).element_size()
        self.next = (self.next + 15) // 16 * 16
        view = self.buffer[self.next : self.next + n * size].view(dtype).view(shape)
        self.next += n * size + gap
        if values is not None:
            view.copy_(torch.as_tensor(values, dtype=dtype).view(shape))
        return view

    def freeze(self) -> None:
        self.before = self.buffer.clone()

    def check(self, *writes: tuple[torch.Tensor, Any]) -> None:
        """Every byte is as at ``freeze``, but for the views named, which hold what is said."""
        after = self.buffer.clone()
        for view, values in writes:
            assert torch.equal(view, torch.as_tensor(values, dtype=view.dtype)), (view, values)
        self.buffer.copy_(self.before)
        for view, values in writes:
            view.copy_(torch.as_tensor(values, dtype=view.dtype))
        stray = (self.buffer != after).nonzero().flatten()
        assert not stray.numel(), f"bytes {stray.tolist()[:8]} changed"
