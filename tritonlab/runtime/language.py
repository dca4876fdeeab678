"""``triton.language`` while a kernel is interpreted: applied for the length of a launch, then taken back.

Triton's own patch is computed once and kept as a list of attributes, so that applying it costs
little and restoring it is certain. On top of it come the things that the interpreter lets pass or
reports in riddles: the truth of a block, an element of a block, loops whose variable has no type.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter as ti

from . import libdevice, misuse, numerics, printing, rewrite

_MISSING = object()
_changes: list[tuple[Any, str, Any, Any]] = []
"""(object, attribute, what it holds outside of launches, what it holds inside)."""
_applied = False


def applied() -> bool:
    """Whether ``triton.language`` is on the interpreter now."""
    return _applied


def apply() -> None:
    """Let ``triton.language`` run on the interpreter, until ``restore``."""
    global _applied
    if not _changes:
        _collect()
    _applied = True
    for obj, name, _, new in _changes:
        setattr(obj, name, new)


def restore() -> None:
    """Put every attribute back. An interrupt that comes meanwhile is raised once that is done."""
    global _applied
    interrupt: BaseException | None = None
    for _ in range(3):
        try:
            for obj, name, original, _ in reversed(_changes):
                if original is not _MISSING:
                    setattr(obj, name, original)
                elif name in vars(obj):
                    delattr(obj, name)
            _applied = False
            break
        except BaseException as e:
            interrupt = e
    if interrupt is not None:
        raise interrupt


@contextmanager
def unpatched() -> Iterator[None]:
    """The language as the compiler needs it, also when called from inside a launch."""
    inside = _applied
    if inside:
        restore()
    try:
        yield
    finally:
        if inside:
            apply()


def _collect() -> None:
    """Let Triton patch its language once, and note what that changes."""
    # the compiler knows functions of the language by identity, and would first be imported in the middle of a launch
    importlib.import_module("triton.compiler.code_generator")

    def anchor() -> None: ...

    probe = types.FunctionType(anchor.__code__, {"tl": tl, "core": tl.core})
    scope = ti._patch_lang(probe)
    objects = {id(obj): obj for obj, _, _ in scope._changes}
    patched = {(id(obj), name) for obj, name, _ in scope._changes}
    scope.restore()
    for key, name in patched:  # Triton puts attributes back that were inherited, as attributes of the heir
        obj = objects[key]
        if isinstance(obj, type) and any(name in vars(base) and vars(base)[name] is vars(obj).get(name) for base in obj.__mro__[1:]):
            delattr(obj, name)
    for obj in (tl, tl.core, tl.tensor, TritonSemantic):
        objects.setdefault(id(obj), obj)
    before = {key: dict(vars(obj)) for key, obj in objects.items()}
    scope = ti._patch_lang(probe)
    patches: dict[tuple[int, str], Any] = {(id(obj), name): vars(obj)[name] for obj, name, _ in scope._changes}
    scope.restore()

    def override(obj: Any, name: str, new: Any) -> None:
        patches[id(obj), name] = new

    override(tl.tensor, "__bool__", misuse.truth)
    override(tl.tensor, "__index__", misuse.one_integer)
    override(tl.tensor, "__int__", misuse.one_integer)
    override(tl.tensor, "__getitem__", misuse.checked_getitem(patches.get((id(tl.tensor), "__getitem__"), tl.tensor.__getitem__)))
    for place in (tl.extra, *(getattr(tl.extra, name, None) for name in ("cuda", "hip"))):
        if hasattr(place, "libdevice"):
            objects.setdefault(id(place), place)
            before.setdefault(id(place), dict(vars(place)))
            override(place, "libdevice", libdevice.STAND_IN)
    override(tl.tensor, "__repr__", printing.show)
    override(tl.tensor, "__str__", printing.show)
    for module in (tl, tl.core):
        override(module, "range", tensor_range)
        override(module, "static_range", static_range)
        override(module, "static_print", printing.printed)
        override(module, "static_assert", misuse.static_assert)
        for name in ("reduce", "associative_scan"):
            override(module, name, _refusing_small_floats(patches[id(module), name], f"tl.{name}"))
    for kind in ("atomic_max", "atomic_min"):
        override(TritonSemantic, kind, _float_extreme(getattr(TritonSemantic, kind), kind))
    # Triton's restore left such copies again: the first launch's end removes them
    _changes.extend((objects[key], name, before[key].get(name, _MISSING), new) for (key, name), new in patches.items())


# loops


def tensor_range(arg1: Any, arg2: Any = None, step: Any = None, **options: Any) -> Iterator[Any]:
    """``range`` and ``tl.range``: the variable is a tensor, as in a compiled kernel, of the bounds' common integer type."""
    start, end = (0, arg1) if arg2 is None else (arg1, arg2)
    bounds = [ti.interpreter_semantic.to_tensor(b) for b in (start, end, 1 if step is None else step)]
    for bound in bounds:
        misuse.check_bound(bound)
    dtype = bounds[0].dtype
    for bound in bounds[1:]:
        dtype = ti.interpreter_semantic.integer_promote_impl(dtype, bound.dtype)
    np_type = ti._get_np_dtype(dtype)
    numbers = [int(b.handle.data.reshape(-1)[0]) for b in bounds]
    if numbers[2] == 0:
        raise ValueError("range() arg 3 must not be zero")
    return (tl.tensor(ti.TensorHandle(np.array([i], dtype=np_type), dtype), dtype) for i in range(*numbers))


def static_range(arg1: Any, arg2: Any = None, step: Any = None, **options: Any) -> range:
    """``tl.static_range``: plain integers, known when the kernel is compiled."""
    start, end = (0, arg1) if arg2 is None else (arg1, arg2)
    bounds = [b.value if isinstance(b, tl.constexpr) else b for b in (start, end, 1 if step is None else step)]
    misuse.check_static(bounds)
    return range(*bounds)


def _two_sided(name: str, builtin: Callable[..., Any]) -> Callable[..., Any]:
    function = "minimum" if name == "min" else "maximum"

    def pick(*args: Any, **kwargs: Any) -> Any:
        if len(args) >= 2 and any(isinstance(a, tl.tensor) for a in args):
            picked = args[0]
            for other in args[1:]:
                picked = getattr(tl, function)(picked, other)
            return picked
        return builtin(*args, **kwargs)

    return pick


# operations that the interpreter gets wrong


_CHOOSING = {"_elementwise_max", "_elementwise_min"} | {f"_arg{m}_combine_tie_break_{how}" for m in ("max", "min") for how in ("left", "fast")}
"""Triton's reductions that choose one of the lanes, which is exact in any order and any type."""


def _refusing_small_floats(plain: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A reduction or scan that widens small floats where that changes nothing, and else refuses them."""

    def reduce(input: Any, axis: Any, combine_fn: Any, *args: Any, **kwargs: Any) -> Any:
        blocks = input if isinstance(input, tuple) else (input,)
        small = [isinstance(b, tl.tensor) and numerics.is_small_float(b.dtype) for b in blocks]
        if not any(small):
            return plain(input, axis, combine_fn, *args, **kwargs)
        name = getattr(getattr(combine_fn, "fn", combine_fn), "__name__", "")
        if name not in _CHOOSING:
            sums = {"_sum_combine": ("tl.sum", "tl.cumsum"), "_prod_combine": (what, "tl.cumprod")}.get(name, (what, what))
            numerics.refuse_reduction(sums[what == "tl.associative_scan"], blocks[small.index(True)].dtype)
        cast = ti.interpreter_semantic.cast
        wide = tuple(cast(b, tl.float32) if s else b for b, s in zip(blocks, small))
        made = plain(wide if isinstance(input, tuple) else wide[0], axis, combine_fn, *args, **kwargs)
        if not isinstance(made, tuple):
            return cast(made, blocks[0].dtype)
        return tuple(cast(m, b.dtype) if s else m for m, b, s in zip(made, blocks, small))

    return reduce


def _float_extreme(plain: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """One access of floats, where Triton makes two of integers: for the lanes of either sign."""

    def extreme(self: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
        checked_ptr, checked_val, checked_mask = self.atom_red_typechecking_impl(ptr, val, mask, kind.removeprefix("atomic_"))
        if checked_val.type.scalar not in (tl.float32, tl.float64):
            return plain(self, ptr, val, mask, sem, scope)
        handle = self.builder.create_float_extreme(
            kind, checked_ptr.handle, checked_val.handle, checked_mask.handle, self._str_to_sem(sem), self._str_to_scope(scope)
        )
        return self.tensor(handle, checked_val.type)

    return extreme


def _assigned(value: Any) -> Any:
    printing.refuse_nothing(value)
    return ti.interpreter_semantic.to_tensor(value, False)


def names(module: dict[str, Any]) -> dict[str, Any]:
    """What a rewritten kernel sees beside its module's own names, and instead of some of them."""
    stands = {n: libdevice.STAND_IN for n, v in module.items() if libdevice.is_libdevice(v)}
    stands |= {n: libdevice.function(v.__name__) for n, v in module.items() if libdevice.is_function(v)}
    return stands | {
        "print": printing.printed,
        "range": tensor_range,
        "min": _two_sided("min", min),
        "max": _two_sided("max", max),
        rewrite.TO_TENSOR: _assigned,
        rewrite.ASSERT: misuse.kernel_assert,
        rewrite.TRY: misuse.refuse_try,
    }
