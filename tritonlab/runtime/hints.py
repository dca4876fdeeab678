"""Messages that Triton's interpreter words badly, said plainly, each with its way out."""

from __future__ import annotations

import linecache
import re

_CAST = "cast first: x.to(tl.float32)"
_POINTERS = "use tl.make_tensor_descriptor, or pointers made of offsets: x_ptr + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n"
_SIZES = "annotate the parameter, `BLOCK_SIZE: tl.constexpr`"

# (pattern in "Type: message", plain message or None to keep it, way out)
_TABLE: list[tuple[str, str | None, str]] = [
    (r"range must be a power of 2", None, "round the block up, triton.next_power_of_2(n), and mask the lanes past n"),
    (r"Shape element \d+ must be a power of 2", None, "each side of a block is a power of two: round up and mask the rest"),
    (r"arange's arguments must be of type tl\.constexpr\n@ .*arange\((?!\s*0\s*,)", None, "arange's ends must be constants: move what differs between programs outside, pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)"),
    (r"arange's arguments must be of type tl\.constexpr", None, f"{_SIZES}; a name computed in the kernel needs it too, `HALF: tl.constexpr = BLOCK_SIZE // 2`"),
    (r"Shape element \d+ must have type `?constexpr", None, f"a block's shape is made of constexprs: {_SIZES}"),
    (r"possible value of tl\.arange|arange's end argument|numel .* exceeds triton maximum", None, "take smaller blocks, and more programs or a loop"),
    (r"has no attribute 'tanh'", "tl.tanh does not exist", "tanh(x) is 2 * tl.sigmoid(2 * x) - 1"),
    (r"module 'triton\.language' has no attribute '(\w+)'", r"tl.\1 does not exist", "the names that there are: https://triton-lang.org, triton.language"),
    (r"'tensor' object has no attribute '(\w+)'", r"a block has no .\1", "functions on blocks are those of triton.language: tl.sum(x, axis=0), tl.exp(x), x.to(tl.float32)"),
    (r"'tensor' object does not support item assignment", "single lanes of a block cannot be assigned", "tl.where(offs == i, value, x) gives a block with that lane replaced"),
    (r"object of type 'tensor' has no len|'tensor' object is not iterable", "a block has no length of its own and cannot be looped over", "x.shape[0] is its size; operations work on all lanes at once"),
    (r"(Mask|Value|Other) argument cannot be block type if pointer argument is not a block", None, "the pointer is a single address: add the block of offsets to it, x_ptr + offs"),
    (r"[Uu]nsupported ptr type", "what is loaded from or stored to is no pointer", "a pointer is an argument plus offsets: tl.load(x_ptr + offs)"),
    (r"`other` cannot be provided without `mask`", None, "other= fills the lanes that a mask turns off: give the mask too"),
    (r"[Bb]lock pointers|make_block_ptr", None, _POINTERS),
    (r"of type <class '(torch\.Tensor|generator|range)'> to tensor|'(Tensor|generator|range)' object has no attribute|builtin_function_or_method' object has no attribute 'scalar'|'torch\.dtype' object has no attribute 'is_ptr'", "a tensor of torch, or a range of Python, stands where a block is wanted", "inside a kernel use tl.arange: torch's tensors and Python's ranges are objects of the host"),
    (r"'NoneType' object has no attribute '(data|handle|dtype|type)'|cannot convert None of type", "the result of something that has no value is used", "a function without `return` gives None, and tl.store gives nothing back"),
    (r"[Mm]ask.*(unsupported dtype|must have boolean)|must have boolean scalar type", None, "a mask is a block of booleans: compare, mask = m != 0"),
    (r"Both operands must be same dtype|[Bb]oth operands must be same|First input .*must (have|be)|Unsupported (lhs|rhs) dtype", None, "tl.dot takes (M, K) and (K, N) of one dtype"),
    (r"equal reduction dimensions|First input shape|Both inputs must be either 2D|inner.*dim|match.*dot", None, "tl.dot takes (M, K) and (K, N) of one dtype"),
    (r"axis (\d+) out of bounds|axis .*out of", None, "axes count from 0: a block of shape (BLOCK,) has axis=0 only"),
    (r"Expected dtype \[.*\] but got", None, _CAST),
    (r"Cannot bitcast|incompatible type|invalid operands|unexpected type|unsupported operand|IncompatibleTypeError", None, "check the types: pointers take + and - with integers; arithmetic takes numbers"),
    (r"Cannot broadcast|shape mismatch|could not be broadcast|Cannot make_shape_compatible|incompatible dimensions", None, "blocks of different shape meet here: add axes with x[:, None] and y[None, :], and compare the shapes"),
    (r"missing \d+ required|positional arguments? but|unexpected keyword argument|multiple values for", None, "compare the call with the function's parameters"),
    (r"(extern_elementwise|inline_asm).* not supported|has no attribute 'create_", "this exists only on a GPU, not in the interpreter", "leave it out here, or run it on CUDA tensors"),
    (r"maximum recursion depth", "the kernel calls itself without end", "a kernel cannot recurse"),
    (r"block offset start must be 16-byte aligned|must be 16-byte aligned|last dim must be contiguous", None, "a descriptor's base, rows and column offsets start at multiples of 16 bytes, and its last stride is 1"),
    (r"Assume failed", "tl.assume was told something that does not hold", "a GPU's compiler would rely on it: correct the condition"),
    (r"Cannot store to a constant pointer", None, "the parameter is declared const"),
]


def hint_for(error: BaseException, text: str) -> tuple[str, str]:
    """(message, way out) for an exception raised inside a kernel at the line ``text``."""
    name = type(error).__name__
    message = str(error) or _asserted(error)
    full = f"{name}: {message}" if message else name
    if isinstance(error, UnboundLocalError):
        names = re.findall(r"'(\w+)'", message)
        name = names[0] if names else "a variable"
        return full, f"{name} gets a value only on a path that this program did not take: give it one before the if or the loop"
    if isinstance(error, NameError):
        missing = getattr(error, "name", None) or message
        return full, f"{missing} is not known in the kernel: pass it as an argument, or import it in this module"
    if isinstance(error, ZeroDivisionError):
        return full, "the divisor is 0 for this program"
    for pattern, plain, hint in _TABLE:
        found = re.search(pattern, f"{full}\n@ {text}" if "@" in pattern else full)
        if found:
            return (found.expand(plain) if plain else full), hint
    return full, ""


def _asserted(error: BaseException) -> str:
    """What an assertion without a message asked, from the line on which it stands."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is None or not isinstance(error, AssertionError):
        return ""
    line = linecache.getline(tb.tb_frame.f_code.co_filename, tb.tb_lineno).strip()
    return line if line.startswith("assert") else ""
