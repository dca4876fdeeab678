"""Messages that Triton's interpreter words badly, said plainly, each with its way out."""

from __future__ import annotations

import re

_LIBDEVICE = "functions of libdevice exist only on a GPU; tanh(x) is 2 * tl.sigmoid(2 * x) - 1, and tl.exp, tl.log, tl.sqrt, tl.erf work in both"

# (pattern in the message, plain message or None to keep it, way out)
_TABLE: list[tuple[str, str | None, str]] = [
    (r"range must be a power of 2", None, "round the block up, triton.next_power_of_2(n), and mask the lanes past n"),
    (r"Shape element \d+ must be a power of 2", None, "each side of a block is a power of two: round up and mask the rest"),
    (r"arange's arguments must be of type tl\.constexpr", None, "annotate the block size in the kernel's signature, `BLOCK_SIZE: tl.constexpr`; a name computed in the kernel needs it too, `HALF: tl.constexpr = BLOCK_SIZE // 2`"),
    (r"Shape element \d+ must have type `?constexpr", None, "a block's shape is made of constexprs: annotate the parameter, `BLOCK_SIZE: tl.constexpr`"),
    (r"extern_elementwise not supported|_libdevice|libdevice", None, _LIBDEVICE),
    (r"has no attribute 'tanh'", "tl.tanh does not exist", "tanh(x) is 2 * tl.sigmoid(2 * x) - 1"),
    (r"Mask argument cannot be block type if pointer argument is not a block|Value argument cannot be block type if pointer argument is not a block", None, "the pointer is a single address: add the block of offsets to it, x_ptr + offs"),
    (r"[Bb]lock pointers|make_block_ptr", None, "use tl.make_tensor_descriptor, or pointers made of offsets: x_ptr + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n"),
    (r"'NoneType' object has no attribute '(data|handle|dtype|type)'", "the result of something that has no value is used (tl.store returns nothing)", "do not assign the result of tl.store"),
    (r"[Mm]ask.*(unsupported dtype|must have boolean)|must have boolean scalar type", None, "a mask is a block of booleans: compare, mask = m != 0"),
    (r"Cannot bitcast|incompatible type|invalid operands|unexpected type|unsupported operand", None, "check the types: pointers take + and - with integers; arithmetic takes numbers"),
    (r"Cannot broadcast|shape mismatch|could not be broadcast|Cannot make_shape_compatible", None, "blocks of different shape meet here: add axes with x[:, None] and y[None, :], and compare the shapes"),
    (r"Expected dtype \[.*\] but got", None, "cast first: x.to(tl.float32)"),
    (r"First input shape .* (is not compatible|must)|inner.*dim|must match.*dot|[Bb]oth operands must be same", None, "tl.dot takes (M, K) and (K, N) of one dtype"),
    (r"maximum recursion depth", "the kernel calls itself without end", "a kernel cannot recurse"),
]


def hint_for(error: BaseException, text: str) -> tuple[str, str]:
    """(message, way out) for an exception raised inside a kernel at the line ``text``."""
    message = str(error) or type(error).__name__
    name = type(error).__name__
    if isinstance(error, NameError):
        missing = getattr(error, "name", None) or message
        return f"{name}: {message}", f"{missing} is not known in the kernel: pass it as an argument, or import it in this module"
    if isinstance(error, ZeroDivisionError):
        return f"{name}: {message}", "the divisor is 0 for this program"
    full = f"{name}: {message}"
    for pattern, plain, hint in _TABLE:
        if re.search(pattern, full) or (pattern.startswith("extern") and "libdevice" in text):
            return (plain or full), hint
    return full, ""
