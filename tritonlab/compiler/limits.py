"""How many programs fit on a streaming multiprocessor (SM) at once, and what stops the next one."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LIMITS", "Limits", "Occupancy", "SOURCE", "TARGETS", "occupancy"]

SOURCE = "CUDA C++ Programming Guide, compute capabilities: technical specifications per compute capability"
"""Where the limits stand. Allocation granularities: the CUDA occupancy calculator (register and shared memory units)."""

KIB = 1024
WARP = 32
TENSOR_MEMORY = 512
"""Columns of tensor memory of an SM of sm_100, where the accumulators of tcgen05 live."""


@dataclass(frozen=True)
class Limits:
    """What one SM of a target has. Memory in bytes; ``shared_reserved`` is what the system takes of each program.

    ``shared_program`` is the most that one program may ask for. Registers are handed out to a warp in units of
    ``register_unit``, and an SM's warps are spread over ``partitions`` equal parts with their own registers.
    """

    target: str
    gpus: str
    warps: int
    programs: int
    shared: int
    shared_program: int
    shared_reserved: int
    shared_unit: int
    registers: int = 65_536
    registers_thread: int = 255
    register_unit: int = 256
    partitions: int = 4
    threads_program: int = 1024


_ROWS = (
    #       target    sold as                         warps programs shared KiB, of one program, reserved, unit
    Limits("sm_75", "T4, RTX 20", 32, 16, 64 * KIB, 64 * KIB, 0, 256),
    Limits("sm_80", "A100, A30", 64, 32, 164 * KIB, 163 * KIB, KIB, 128),
    Limits("sm_86", "A10, RTX 30", 48, 16, 100 * KIB, 99 * KIB, KIB, 128),
    Limits("sm_89", "L4, L40, RTX 40", 48, 24, 100 * KIB, 99 * KIB, KIB, 128),
    Limits("sm_90", "H100, H200", 64, 32, 228 * KIB, 227 * KIB, KIB, 128),
    Limits("sm_100", "B200", 64, 32, 228 * KIB, 227 * KIB, KIB, 128),
    Limits("sm_120", "RTX 50, RTX PRO", 48, 24, 100 * KIB, 99 * KIB, KIB, 128),
)
LIMITS: dict[str, Limits] = {row.target: row for row in _ROWS}
TARGETS: tuple[str, ...] = tuple(LIMITS)


@dataclass(frozen=True)
class Occupancy:
    """How many programs of a kernel one SM holds at once.

    ``by`` says how many each resource alone would allow: ``"registers"``, ``"shared memory"``, ``"warps"``,
    ``"programs"``, ``"tensor memory"`` (None: this kernel needs none of it). ``limiter`` names the scarcest ("registers and warps" when both are).
    ``programs`` is the smallest of them, ``warps`` how many warps that is, of ``most_warps``.
    """

    target: str
    programs: int
    warps: int
    most_warps: int
    limiter: str
    by: dict[str, int | None]

    __hash__ = None  # type: ignore[assignment]

    @property
    def share(self) -> float:
        """Resident warps over the most that an SM holds, 0 to 1."""
        return self.warps / self.most_warps

    def __repr__(self) -> str:
        if not self.programs:
            return f"<Occupancy {self.target}: no program fits, for {self.limiter}>"
        noun = "program" if self.programs == 1 else "programs"
        return f"<Occupancy {self.target}: {self.programs} {noun}, {self.warps} of {self.most_warps} warps ({self.share:.0%}), limited by {self.limiter}>"


def occupancy(target: str, registers: int, shared: int, num_warps: int, tensor_memory: int = 0) -> Occupancy:
    """Programs per SM from registers a thread, shared memory of a program in bytes, its warps and its tensor memory columns.

    Register use of a warp is rounded up to a unit of 256; an SM's quarter holds a whole number of such warps. Shared
    memory is what the program asks for and 1 KiB for the system (from sm_80 on), rounded up to a unit.
    ``ValueError`` for an unknown target or numbers below what a kernel can have.
    """
    if target not in LIMITS:
        raise ValueError(f"target is {target!r}; known are {', '.join(LIMITS)}")
    if num_warps < 1 or registers < 0 or shared < 0:
        raise ValueError(
            f"a kernel has at least 1 warp and no negative resources; got num_warps={num_warps}, registers={registers}, shared={shared}"
        )
    has = LIMITS[target]
    warp_registers = _up(max(registers, 1) * WARP, has.register_unit)
    fitting_warps = has.registers // has.partitions // warp_registers * has.partitions
    taken = shared + has.shared_reserved
    by: dict[str, int | None] = {
        "registers": fitting_warps // num_warps,
        "shared memory": (0 if shared > has.shared_program else has.shared // _up(taken, has.shared_unit)) if taken else None,
        "warps": has.warps // num_warps if num_warps * WARP <= has.threads_program else 0,
        "programs": has.programs,
        "tensor memory": TENSOR_MEMORY // tensor_memory if tensor_memory else None,
    }
    programs = min(n for n in by.values() if n is not None)
    limiters = [name for name, n in by.items() if n == programs]
    limiter = " and ".join([", ".join(limiters[:-1]), limiters[-1]] if len(limiters) > 1 else limiters)
    return Occupancy(target, programs, programs * num_warps, has.warps, limiter, by)


def _up(n: int, unit: int) -> int:
    return -(-n // unit) * unit
