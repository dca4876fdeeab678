"""How a loop was pipelined: what is copied ahead, into how many buffers, and waited for. Frozen records of plain values."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Buffer", "Pipeline"]


@dataclass(frozen=True)
class Buffer:
    """Shared memory that the steps of a loop take turns in: ``slots`` tiles of ``shape`` and ``dtype``.

    ``name`` is the variable that the tile is loaded for, ``argument`` the pointer that it is loaded through ("" where the
    text does not tell), ``function`` and ``line`` where. ``ahead``: how many steps before its use a tile is copied; 0 for a tile
    that its own step loads through registers. ``bytes`` of all slots together.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    slots: int
    bytes: int
    ahead: int = 0
    argument: str = ""
    function: str = ""
    line: int = 0

    def __repr__(self) -> str:
        return f"<Buffer {self.name} {self.slots} × {'×'.join(map(str, self.shape))} {self.dtype}, {self.bytes} B, {self.ahead} ahead>"


@dataclass(frozen=True)
class Pipeline:
    """How the compiler arranged a loop that loads tiles.

    ``stages`` is 1 + the most steps that a tile is copied ahead: 1 for a loop that is not pipelined, however many
    ``num_stages`` were asked for. ``how``: ``"cp.async"``, ``"TMA"``, or ``"registers"`` where nothing is copied asynchronously.
    ``before`` and ``inside`` count asynchronous copies of a tile in the text before the loop and in its body; ``loads`` are
    plain loads of a tile in the body. ``waits``: at each wait of the body, how many copies may still be under way
    (cp.async counts them; TMA waits for one tile's barrier, and has none).
    ``dot``: whether the body multiplies; ``running``: how many dots may not be finished yet when the body's
    copies begin (0 for mma.sync, which has taken its tiles into registers; 1 where wgmma and tcgen05 read them from shared memory).
    ``barriers``: bytes of shared memory for barriers.
    """

    stages: int
    how: str
    buffers: tuple[Buffer, ...] = ()
    before: int = 0
    inside: int = 0
    loads: int = 0
    waits: tuple[int, ...] = ()
    dot: bool = False
    running: int = 0
    barriers: int = 0
    function: str = ""
    line: int = 0

    @property
    def ahead(self) -> int:
        """Steps before its use that a tile is copied."""
        return self.stages - 1

    @property
    def slots(self) -> int:
        """Buffers of each tile that is copied ahead; 1 when none is."""
        return max((b.slots for b in self.buffers if b.ahead == self.ahead), default=1)

    @property
    def bytes(self) -> int:
        """Shared memory of all buffers, barriers not counted."""
        return sum(b.bytes for b in self.buffers)

    def __repr__(self) -> str:
        tiles = ", ".join(f"{b.slots} × {b.name} {'×'.join(map(str, b.shape))} {b.dtype}" for b in self.buffers) or "no buffer"
        how = f"{self.stages} stages by {self.how}" if self.stages > 1 else "1 stage, not pipelined"
        return f"<Pipeline {how}: {tiles}, {self.bytes} B>"
