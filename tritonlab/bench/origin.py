"""Where the measurements of this process come from."""

from __future__ import annotations

import datetime
import platform

import torch
import triton

from .measurement import Origin

__all__ = ["present_origin"]


def present_origin(method: str, device: str = "cuda") -> Origin:
    """GPU, versions and date (UTC) of this moment; the GPU's size, the CUDA and Python versions as details."""
    details: dict[str, str | int | float] = {"python": platform.python_version()}
    gpu = f"no GPU ({device})"
    if device == "cuda":
        properties = torch.cuda.get_device_properties()
        gpu = properties.name
        details |= {"multiprocessors": properties.multi_processor_count, "memory_bytes": properties.total_memory}
        if getattr(properties, "L2_cache_size", 0):
            details["l2_bytes"] = properties.L2_cache_size
        if torch.version.cuda:
            details |= {"cuda": torch.version.cuda, "capability": f"{properties.major}.{properties.minor}"}
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Origin(gpu, str(torch.__version__), str(triton.__version__), now, method, tuple(details.items()))
