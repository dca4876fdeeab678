"""The compiler's messages in a learner's words: (pattern, message, way out). ``{g1}`` is the pattern's first group."""

from __future__ import annotations

__all__ = ["HINTS", "NODES"]

HINTS: tuple[tuple[str, str, str], ...] = (
    (
        r"Input shapes should have M >= (\d+), N >= (\d+) and K >= (\d+)",
        "tl.dot needs K of at least {g3} on {target}, for these operands: K is the columns of the first and the rows of the second",
        "load blocks of {g3} or more along K, and mask what is past the end with other=0.0",
    ),
    (
        r"Both operands must be same dtype. Got (\S+) and (\S+)",
        "tl.dot takes two operands of one dtype, and got {g1} and {g2}",
        "cast one, as in b.to(a.dtype)",
    ),
    (r"unsupported AST node type: (\w+)", "{what} cannot be compiled", "{instead}"),
    (
        r"loop body should only have one block",
        "`return` inside a loop cannot be compiled",
        "let the loop run to its end, and mask the work instead",
    ),
    (
        r"Cannot access global variable (\w+)",
        "a compiled kernel cannot see the Python variable {g1}",
        "pass it as an argument, or make it a constant: {g1} = tl.constexpr(...)",
    ),
    (
        r"Loop-carried variable (\w+) has initial type (.+?) but is re-assigned to (.+?) in loop",
        "{g1} begins as {g2}, and the loop makes it {g3}: a compiled loop keeps one type",
        "begin with the type and shape that the loop gives it, 0.0 or tl.zeros((BLOCK,), tl.float32)",
    ),
    (
        r"Mismatched type for (\w+) between then block \((.+?)\) and else block \((.+?)\)",
        "{g1} is {g2} in one branch and {g3} in the other",
        "give it one type in both, or choose with tl.where",
    ),
    (
        r"range must be a power of 2",
        "the length of tl.arange must be a power of two",
        "take the next power of two, triton.next_power_of_2(n), and mask the lanes past n",
    ),
    (
        r"arange's arguments must be of type tl.constexpr",
        "tl.arange needs constants, and got a number known only at the launch",
        "annotate the parameter: BLOCK_SIZE: tl.constexpr",
    ),
    (
        r"Shape element (\d+) must have type `constexpr",
        "the shape of a block must be constant, and element {g1} is known only at the launch",
        "annotate the parameter: BLOCK_SIZE: tl.constexpr",
    ),
    (
        r"Shape element (\d+) must be a power of 2",
        "each length of a block must be a power of two; element {g1} of this shape is not",
        "pad to the next power of two, and mask",
    ),
    (
        r"numel \((\d+)\) exceeds triton maximum tensor numel \((\d+)\)",
        "a block of {g1} elements is above Triton's limit of {g2}",
        "let each program loop over smaller blocks, or launch more programs",
    ),
    (
        r"^(\w+) is not defined",
        "{g1} is not defined at this point of the kernel",
        "assign it on every path that leads here, also when an `if` is not taken",
    ),
    (
        r"module 'triton.language' has no attribute '(\w+)'",
        "tl.{g1} does not exist",
        "look in dir(tl); tanh, for one, is 2 * tl.sigmoid(2 * x) - 1",
    ),
    (
        r"unsupported tensor index: constexpr\[(.*)\]",
        "a block cannot be indexed",
        "choose with a mask and a reduction, tl.sum(tl.where(offs == {g1}, x, 0)), or load that element by itself",
    ),
    (
        r"__setitem__ is not supported",
        "an element of a block cannot be assigned",
        "make a new block: x = tl.where(offs == i, value, x)",
    ),
    (
        r"Boolean value of Tensor with more than one value is ambiguous",
        "`if` needs one truth value, and this condition is a block",
        "use tl.where(condition, a, b), or pass the condition as mask=",
    ),
    (
        r"simultaneous multiple comparison is not supported",
        "a chain of comparisons cannot be compiled; `&` binds tighter than `<`, so `a >= 0 & a < n` is one, too",
        "put each comparison in parentheses: (a >= 0) & (a < n)",
    ),
    (
        r"Cannot make_shape_compatible: incompatible dimensions at index (\d+): (\d+) and (\d+)",
        "blocks of {g2} and {g3} elements along axis {g1} do not go together",
        "make both of one length, or one of them 1 long with [:, None] or [None, :]",
    ),
    (
        r"Expected dtype \['fp32', 'fp64'\] but got (\w+)",
        "this function takes float32 or float64, and got {g1}",
        "cast first: x.to(tl.float32), and the result back where it is stored",
    ),
    (
        r"invalid operands of type pointer<(\S+)> and (?:triton\.language\.)?(float\w+)",
        "an offset must be an integer, and this one is {g2}",
        "cast it: offset.to(tl.int32), or compute it with //",
    ),
    (
        r"invalid operands of type pointer<(\S+)> and pointer<(\S+)>",
        "two pointers cannot be added",
        "add an integer offset to one of them",
    ),
    (
        r"Value argument cannot be block type if pointer argument is not a block",
        "tl.store got a block of values and a single pointer",
        "give it a block of pointers, x_ptr + offs, or reduce the values to one",
    ),
    (
        r"only tuple comprehensions are supported|ListComp",
        "a list comprehension cannot be compiled",
        "write a loop over tl.static_range, or a block",
    ),
    (
        r"type (fp8\w+) not supported in this architecture",
        "{target} has no {g1}",
        "use a dtype that it has, tl.float8e5, or a target from sm_89 on",
    ),
    (
        r"Unsupported function referenced: (<.*>)",
        "a kernel can call only @triton.jit functions and tl functions, and this is {g1}",
        "decorate it with @triton.jit, or use the tl function of that purpose",
    ),
    (
        r"containing non-constexpr conversion values",
        "an f-string in a kernel can hold constants only",
        'print the value beside the text: tl.device_print("x", x)',
    ),
    (r"KeyError: '(?:.*\.)?(\w+?)__", "{g1} calls itself, and a kernel cannot", "write a loop"),
    (
        r"Conflicting types for|must be type tl.constexpr",
        "a constant got a value known only at the launch",
        "annotate the parameter: tl.constexpr",
    ),
    (
        r"had not finished after",
        "the compiler had not finished in time",
        "tl.static_range unrolls every turn: use range for long loops, and smaller blocks",
    ),
    (
        r"compiler crashed \((\w+)\)(.*)",
        "Triton's compiler crashed on this kernel ({g1}){g2}",
        "that is a fault of the compiler, not of yours alone: try other dtypes, a smaller block or another target",
    ),
    (
        r"PTXAS error|ptxas",
        "NVIDIA's assembler refused the compiled code for {target}",
        "try other options (maxnreg, num_warps) or another target",
    ),
)

NODES = {
    "Break": ("`break`", "let the loop run to its end with a mask, or put the condition into `while`"),
    "Continue": ("`continue`", "put the rest of the loop's body under `if`, or mask it"),
    "Lambda": ("a lambda", "write a function with @triton.jit"),
    "Try": ("`try`", "a kernel has no exceptions: mask what may not be touched"),
    "Raise": ("`raise`", "check before the launch, or use tl.device_assert"),
    "With": ("`with`", "leave it out"),
    "ListComp": ("a list comprehension", "write a loop over tl.static_range, or a block"),
    "DictComp": ("a dict", "pass the values one by one"),
    "Dict": ("a dict", "pass the values one by one"),
    "Import": ("`import`", "import outside of the kernel"),
    "ImportFrom": ("`import`", "import outside of the kernel"),
    "FunctionDef": ("a function inside a kernel", "write it outside, with @triton.jit"),
    "Yield": ("`yield`", "write a loop that stores what it makes"),
    "Delete": ("`del`", "leave it out"),
    "Global": ("`global`", "pass the value as an argument"),
}
"""What Python syntax is called, and what to write instead."""
