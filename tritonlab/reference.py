"""Oracles: what each kernel should give, computed by torch in float64 (integers in their own dtype)."""

from __future__ import annotations

import torch

__all__ = ["bias_gelu", "grouped_matmul", "matmul", "rmsnorm", "softmax", "vector_add"]


def vector_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x + y; float64 for floating-point inputs, wrapping in their own dtype for integers."""
    return x.double() + y.double() if x.is_floating_point() else x + y


def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU of x + bias in the tanh form, float64: v · sigmoid(2u), u = √(2/π) · (v + 0.044715 v³).

    This is v/2 · (1 + tanh u) (Hendrycks and Gimpel, 2016; ``torch``'s ``approximate="tanh"``), written so that
    nothing cancels where tanh u is near -1.
    """
    v = x.double() + bias.double()
    u = (2 / torch.pi) ** 0.5 * (v + 0.044715 * v**3)
    return v * torch.sigmoid(2 * u)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension, float64."""
    return torch.softmax(x.double(), dim=-1)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """x / √(mean(x²) + eps) · weight over the last dimension, float64 (Zhang and Sennrich, 2019)."""
    x = x.double()
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps) * weight.double()


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b, float64: a product of two float32 numbers is exact, and a sum of 2^20 of them is right to 2^-33."""
    return torch.matmul(a.double(), b.double())


grouped_matmul = matmul
"""The order in which tiles are visited changes nothing."""
