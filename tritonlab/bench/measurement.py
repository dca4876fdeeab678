"""What a measurement is: frozen values with where they come from. No torch, no Triton.

Times are seconds, amounts bytes and floating-point operations, rates bytes/s and FLOP/s.
Printed, rates are GB/s and TFLOP/s (decimal) and times µs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

__all__ = ["RESOLUTION", "Failure", "Measurement", "Measurements", "Origin", "Roof", "Roofs", "Timing"]

RESOLUTION = 0.5e-6
"""Seconds; what CUDA promises for the time between two events. No spread is taken as narrower."""


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the median of ``samples`` calls, and the spread ``low`` … ``high``.

    Four calls in five lie within the spread, and so does the median of every pass.
    """

    seconds: float
    low: float
    high: float
    samples: int

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.seconds <= self.high < float("inf"):
            raise ValueError(f"a timing needs 0 < low <= seconds <= high, got {self.low} <= {self.seconds} <= {self.high}")
        if self.samples < 1:
            raise ValueError(f"a timing needs at least one sample, got {self.samples}")

    @property
    def spread(self) -> float:
        """The farther end of the spread from the median, as a fraction of the median."""
        return max(self.high - self.seconds, self.seconds - self.low) / self.seconds

    def agrees(self, other: Timing) -> bool:
        """Whether the two spreads meet, each taken half the timer's resolution wider on both sides."""
        return self.low - RESOLUTION / 2 <= other.high + RESOLUTION / 2 and other.low - RESOLUTION / 2 <= self.high + RESOLUTION / 2


@dataclass(frozen=True)
class Roof:
    """A ceiling as measured: ``amount`` bytes (or operations) in ``timing``; ``what`` says of what."""

    what: str
    amount: float
    timing: Timing

    @property
    def rate(self) -> float:
        """Bytes/s or FLOP/s."""
        return self.amount / self.timing.seconds


@dataclass(frozen=True)
class Roofs:
    """The ceilings of one GPU: ``copy`` (bytes/s), ``matmul`` (FLOP/s) and ``launch``, the time of the smallest launch."""

    copy: Roof | None = None
    matmul: Roof | None = None
    launch: Timing | None = None

    @property
    def ridge(self) -> float | None:
        """FLOP per byte at which the two roofs meet."""
        if self.copy is None or self.matmul is None:
            return None
        return self.matmul.rate / self.copy.rate

    def __repr__(self) -> str:
        from .tables import roofs_text

        return f"<Roofs {roofs_text(self)}>"


@dataclass(frozen=True)
class Origin:
    """Where and how something was measured. ``date`` is UTC, ISO 8601; ``method`` one sentence for the reader."""

    gpu: str
    torch: str
    triton: str
    date: str
    method: str
    details: tuple[tuple[str, str | int | float], ...] = ()

    @property
    def label(self) -> str:
        return f"{self.gpu} · torch {self.torch} · Triton {self.triton} · {self.date[:10]}"


@dataclass(frozen=True)
class Failure:
    """What a sweep could not measure, and why: a config that does not fit, a kernel that is wrong."""

    op: str
    implementation: str
    shape: tuple[int, ...]
    dtype: str
    reason: str
    config: tuple[tuple[str, int | str], ...] = ()

    @property
    def meta(self) -> dict[str, int | str]:
        """``config`` as a dict."""
        return dict(self.config)


@dataclass(frozen=True)
class Measurement:
    """One implementation of one op at one shape and dtype.

    ``timing``: single calls with L2 cleared. ``graph``: the time of a call inside a CUDA graph, with no launch gaps
    and L2 as the call before left it; taken where a launch is a good part of the time. ``bytes`` and ``flops``: what the op must
    move and compute (each input read once, each output written once), or None. ``error``: ‖out − oracle‖ / ‖oracle‖
    in the same run, or None when there was no oracle. ``config``: the meta-parameters and options that a sweep chose,
    ``(("BLOCK_M", 128), …)``. ``counters``: what was counted of one launch, by Nsight Compute under its own
    names, or by the driver of the loaded kernel: ``registers`` a thread, ``spilled`` and ``shared`` bytes.
    """

    op: str
    implementation: str
    shape: tuple[int, ...]
    dtype: str
    timing: Timing
    origin: Origin
    bytes: int | None = None
    flops: int | None = None
    graph: Timing | None = None
    error: float | None = None
    recorded: bool = False
    config: tuple[tuple[str, int | str], ...] = ()
    counters: tuple[tuple[str, float], ...] = ()

    @property
    def meta(self) -> dict[str, int | str]:
        """``config`` as a dict: ``m.meta["BLOCK_M"]``."""
        return dict(self.config)

    @property
    def counted(self) -> dict[str, float]:
        """``counters`` as a dict: ``m.counted["dram__bytes_read.sum"]``."""
        return dict(self.counters)

    @property
    def seconds(self) -> float:
        return self.timing.seconds

    @property
    def gbps(self) -> float | None:
        """GB/s (decimal), or None without ``bytes``."""
        return None if self.bytes is None else self.bytes / self.seconds / 1e9

    @property
    def tflops(self) -> float | None:
        """TFLOP/s, or None without ``flops``."""
        return None if self.flops is None else self.flops / self.seconds / 1e12

    @property
    def intensity(self) -> float | None:
        """FLOP per byte, or None."""
        return None if not self.bytes or self.flops is None else self.flops / self.bytes

    @property
    def numel(self) -> int:
        """How many elements ``shape`` has."""
        n = 1
        for size in self.shape:
            n *= size
        return n

    @property
    def gpu(self) -> str:
        return self.origin.gpu

    @property
    def torch(self) -> str:
        return self.origin.torch

    @property
    def triton(self) -> str:
        return self.origin.triton

    @property
    def date(self) -> str:
        return self.origin.date

    @property
    def method(self) -> str:
        return self.origin.method

    @property
    def label(self) -> str:
        """GPU, versions, date, and "measured now" or "recorded"."""
        return f"{self.origin.label} · {'recorded' if self.recorded else 'measured now'}"

    @property
    def key(self) -> tuple[str, str, tuple[int, ...], str, tuple[tuple[str, int | str], ...]]:
        """What two runs of the bench have in common."""
        return self.op, self.implementation, self.shape, self.dtype, self.config

    def __repr__(self) -> str:
        from .tables import one_line

        return f"<Measurement {one_line(self)}>"


@dataclass(frozen=True, repr=False)
class Measurements:
    """Measurements in the order in which they were taken, with the roofs of their GPU and notes for the reader.

    ``failures``: what a sweep tried and could not measure. Prints as a table, a row a shape, dtype and config, a
    column group an implementation.
    """

    items: tuple[Measurement, ...] = ()
    roofs: Roofs | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    failures: tuple[Failure, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.items)

    def __getitem__(self, index: int) -> Measurement:
        return self.items[index]

    def __add__(self, other: object) -> Measurements:
        if not isinstance(other, Measurements):
            return NotImplemented
        return Measurements(
            self.items + other.items, self.roofs or other.roofs, _unique(self.notes + other.notes), _unique(self.failures + other.failures)
        )

    def __radd__(self, other: object) -> Measurements:
        return self if other == 0 else NotImplemented  # so that sum() joins measurements

    @property
    def ops(self) -> tuple[str, ...]:
        return _unique(m.op for m in self.items)

    @property
    def implementations(self) -> tuple[str, ...]:
        return _unique(m.implementation for m in self.items)

    @property
    def dtypes(self) -> tuple[str, ...]:
        return _unique(m.dtype for m in self.items)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return _unique(m.shape for m in self.items)

    @property
    def labels(self) -> tuple[str, ...]:
        """GPU, versions, date and "measured now" or "recorded"; one for each run that the measurements come from."""
        return _unique(m.label for m in self.items)

    def where(
        self,
        op: str | None = None,
        implementation: str | None = None,
        shape: tuple[int, ...] | int | None = None,
        dtype: str | object | None = None,
        keep: Callable[[Measurement], bool] | None = None,
        config: Mapping[str, int | str] | None = None,
    ) -> Measurements:
        """Those of one op, implementation, shape (a number means ``(n,)``), dtype ("float32" or ``torch.float32``), or that ``keep`` accepts.

        config: values that the configs have, ``{"GROUP_M": 8}``; a config may hold more. Failures are chosen by the
        same, but for ``keep``. ``ValueError`` names what there is when nothing is left.
        """
        wanted = {"op": op, "implementation": implementation}
        wanted["shape"] = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)  # type: ignore[assignment]
        wanted["dtype"] = None if dtype is None else str(dtype).removeprefix("torch.")
        left, failures = self.items, self.failures
        for name, value in wanted.items():
            if value is None:
                continue
            found = tuple(m for m in left if getattr(m, name) == value)
            if not found:
                there = ", ".join(str(v) for v in _unique(getattr(m, name) for m in left)) or "nothing"
                raise ValueError(f"no measurement has {name} {value!r}; there is {there}")
            left, failures = found, tuple(f for f in failures if getattr(f, name) == value)
        for name, value in (config or {}).items():
            found = tuple(m for m in left if m.meta.get(name) == value)
            if not found:
                there = ", ".join(str(v) for v in _unique(m.meta[name] for m in left if name in m.meta)) or "nothing"
                raise ValueError(f"no measurement has {name} {value!r} in its config; there is {there}")
            left, failures = found, tuple(f for f in failures if f.meta.get(name) == value)
        if keep is not None:
            left = tuple(m for m in left if keep(m))
            if not left:
                raise ValueError("keep accepted none of the measurements")
        return replace(self, items=left, failures=failures)

    def as_recorded(self) -> Measurements:
        """The same, marked as read from a record."""
        return replace(self, items=tuple(replace(m, recorded=True) for m in self.items))

    def __repr__(self) -> str:
        from .tables import text_table

        return text_table(self)

    def _repr_html_(self) -> str:
        from .tables import html_table

        return html_table(self)


def _unique(values: Iterable) -> tuple:
    return tuple(dict.fromkeys(values))
