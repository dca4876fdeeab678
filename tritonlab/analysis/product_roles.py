"""Which arguments of a launch are A, B and C of a product C = A @ B, as its trace shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ..trace.record import Access, Launch, Program, TensorArg, Trace
from .lanes import as_launch

__all__ = ["Product", "Role", "find_product", "index_of_lanes"]

SAMPLED = 64
"""Programs that are looked at to tell A from B where their shapes do not."""


@dataclass(frozen=True)
class Role:
    """An argument in its role. ``shape``: [M, K], [K, N] or [M, N] as the product reads it. ``turned``: the tensor has
    that shape the other way round, and is read with its strides swapped (A @ W.T without copying W)."""

    arg: str
    shape: tuple[int, int]
    strides: tuple[int, int]
    turned: bool = False

    def __str__(self) -> str:
        """ "a_ptr[64, 32]", or "w_ptr[32, 64].T" for one that is turned."""
        return f"{self.arg}{list(self.shape[::-1])}.T" if self.turned else f"{self.arg}{list(self.shape)}"


@dataclass(frozen=True)
class Product:
    """C = A @ B. ``others``: further arguments that the launch loads or stores (a bias, a second output)."""

    a: Role
    b: Role
    c: Role
    others: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[int, int, int]:
        """M, N, K."""
        return self.c.shape[0], self.c.shape[1], self.a.shape[1]


def find_product(of: Launch | Trace) -> Product:
    """The roles A, B and C of a launch that multiplies two matrices, whatever its arguments are called.

    C is a 2-D argument that the launch stores (or adds to atomically), A and B are two 2-D arguments that it only
    loads, of shapes [M, K], [K, N] and [M, N]. A tensor of the shape the other way round is taken as A or B, turned, only
    where no three arguments fit as they are. Where shapes leave a choice (square matrices), the pair is taken in
    which most programs load, of A, the rows that they store and, of B, the columns; then the kernel's order of arguments.
    Nothing else is asked of the tiles, so that a kernel that loads wrong ones still counts as a product.

    Arguments that were not touched may fill a role where the record cannot say more: A and B when K is 0, any of them
    when the launch ended by an error, was recorded in part, or has no program.

    Three shapes that an elementwise kernel may have as well (all equal, or K = 1) make a product only if a program loads
    more elements than it stores, the source calls ``dot``, or the result's values are those of A @ B.

    ``ValueError`` says why a launch is none.
    """
    launch = as_launch(of)
    loaded = {a.arg for a in launch.accesses if a.kind == "load"}
    written = {a.arg for a in launch.accesses if a.writes}
    partial = bool(launch.error or launch.left_out or not launch.programs)
    flat = [a for a in launch.args if len(a.shape) == 2]
    operands = [a for a in flat if a.name not in written and (a.name in loaded or a.numel == 0 or partial)]
    results = [a for a in flat if a.name in written or (partial and a.name not in loaded)]
    for turns in (((False, False),), ((False, True), (True, False), (True, True))):
        found = [
            Product(a, b, c)
            for x, y in permutations(operands, 2)
            for z in results
            if z not in (x, y)
            for turn_a, turn_b in turns
            for a, b, c in [(_role(x, turn_a), _role(y, turn_b), _role(z, False))]
            if a.shape[1] == b.shape[0] and c.shape == (a.shape[0], b.shape[1])
        ]
        if found:
            best = found[0] if len(found) == 1 else max(found, key=lambda p: _agreement(launch, p))  # max keeps the first of equals
            if _elementwise(launch, best):
                raise ValueError(
                    f"{launch.kernel} is no product as far as its trace shows: its programs load as many elements of "
                    f"{best.a.arg} and of {best.b.arg} as they store of {best.c.arg}, and its source calls no dot"
                )
            used = {best.a.arg, best.b.arg, best.c.arg}
            others = tuple(a.name for a in launch.args if a.name in loaded | written and a.name not in used)
            return Product(best.a, best.b, best.c, others)
    raise ValueError(
        f"{launch.kernel} is no product: a product loads two 2-D tensors A [M, K] and B [K, N] and stores a third, C [M, N]; "
        f"it loads {_names(launch, loaded)} and stores {_names(launch, written)}"
    )


def _role(arg: TensorArg, turned: bool) -> Role:
    step = -1 if turned else 1
    return Role(arg.name, tuple(arg.shape[::step]), tuple(arg.strides[::step]), turned)  # type: ignore[arg-type]


def _names(launch: Launch, names: set[str]) -> str:
    found = [f"{a.name}{list(a.shape)}" for a in launch.args if a.name in names]
    return ", ".join(found) or "nothing"


def index_of_lanes(role: Role, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each offset, as the strides have it; 0 along an axis of one element or of stride 0."""
    row_stride, column_stride = (s if n > 1 else 0 for n, s in zip(role.shape, role.strides))
    nothing = np.zeros_like(offsets)
    if not row_stride or not column_stride:
        return (offsets // row_stride if row_stride else nothing), (offsets // column_stride if column_stride else nothing)
    if row_stride >= column_stride:
        return offsets // row_stride, offsets % row_stride // column_stride
    return offsets % column_stride // row_stride, offsets // column_stride


def _agreement(launch: Launch, product: Product) -> int:
    """How many programs load of A the rows that they store of C, and of B the columns."""
    reach: dict[Program, dict[str, tuple]] = {}
    roles = {r.arg: r for r in (product.a, product.b, product.c)}
    for access in launch.accesses:
        if access.arg not in roles or not access.mask.any():
            continue
        if access.program not in reach and len(reach) == SAMPLED:
            break
        rows, columns = index_of_lanes(roles[access.arg], access.touched)
        now = (rows.min(), rows.max(), columns.min(), columns.max())
        held = reach.setdefault(access.program, {})
        old = held.get(access.arg, now)
        held[access.arg] = (min(old[0], now[0]), max(old[1], now[1]), min(old[2], now[2]), max(old[3], now[3]))
    empty = (None,) * 4
    return sum(
        (held.get(product.a.arg, empty)[:2] == held[product.c.arg][:2]) + (held.get(product.b.arg, empty)[2:] == held[product.c.arg][2:])
        for held in reach.values()
        if product.c.arg in held
    )


def _elementwise(launch: Launch, product: Product) -> bool:
    """Whether shapes and accesses are those of an elementwise kernel just as well, and nothing speaks for a product."""
    if not (product.a.shape == product.b.shape == product.c.shape or product.sizes[2] == 1):
        return False
    if any(re.search(r"\bdot\w*\s*\(", re.sub(r"#.*", "", f.source)) for f in launch.functions.values()):
        return False
    if product.sizes[2] != 1 and any(len(set(n)) > 1 for n in _elements(launch.accesses, product).values()):
        return False
    a, b = (_values(launch, r, "before") for r in (product.a, product.b))
    c = _values(launch, product.c, "after")
    if a is None or b is None or c is None:
        return True
    expected = a @ b
    return not np.allclose(expected, c, rtol=0.02, atol=0.02 * float(np.abs(expected).max(initial=0)))


def _elements(accesses: tuple[Access, ...], product: Product) -> dict[Program, tuple[int, ...]]:
    """For every program how many elements of A and B it loads and of C it stores."""
    names = (product.a.arg, product.b.arg, product.c.arg)
    held: dict[Program, tuple[list[np.ndarray], ...]] = {}
    for access in accesses:
        if access.arg in names and (access.writes or access.arg != names[2]):
            held.setdefault(access.program, ([], [], []))[names.index(access.arg)].append(access.touched.ravel())
    return {p: tuple(np.unique(np.concatenate(o)).size if o else 0 for o in found) for p, found in held.items()}


def _values(launch: Launch, role: Role, when: str) -> np.ndarray | None:
    values = getattr(launch.arg(role.arg), when)
    if values is None:
        return None
    return np.asarray(values, np.float64).T if role.turned else np.asarray(values, np.float64)
