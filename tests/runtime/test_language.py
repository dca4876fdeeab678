"""What interpreted kernels may say, and what they are told when they say it wrong."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.language.extra.libdevice import rint as renamed_rint

from tritonlab.errors import KernelError, LaunchTypeError, UnsupportedError

NEWER = tuple(map(int, triton.__version__.split(".")[:2]))


def run(kernel, *args, out=None, grid=(1,), **meta):
    out = torch.zeros(8) if out is None else out
    kernel[grid](*args, out, **meta)
    return out


# blocks used as if they were one value


@triton.jit
def truth_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, HOW: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    mask = offs < n
    if HOW == "and":
        mask = (offs < n) and (offs > 2)
    elif HOW == "or":
        mask = (offs < n) or (offs > 2)
    elif HOW == "not":
        mask = not mask
    elif HOW == "chain":
        mask = 2 <= offs < n
    elif HOW == "precedence":
        mask = offs < n & offs > 2
    elif HOW == "if":
        if mask:
            x = x + 1
    elif HOW == "while":
        while mask:
            mask = mask & False
    elif HOW == "ternary":
        x = x if mask else x + 1
    elif HOW == "if_in_if":
        if n > 0:
            if offs == 0:
                x = x + 1
    elif HOW == "elif":
        if n < 0:
            x = x + 2
        elif x > 0:
            x = x + 1
    elif HOW == "bool":
        x = x + bool(mask)
    tl.store(out_ptr + offs, x, mask=mask)


@pytest.mark.parametrize(
    "how, says, way_out",
    [
        ("and", "`and` between blocks", "(a < m) & (b < n)"),
        ("or", "`or` between blocks", "(a < m) | (b < n)"),
        ("not", "`not` of a block", "~mask"),
        ("chain", "chained comparison", "(a <= x) & (x < b)"),
        ("precedence", "chained comparison", "(a <= x) & (x < b)"),
        ("if", "`if` on a block", "tl.where(mask, a, b)"),
        ("while", "`while` on a block", "tl.where(mask, a, b)"),
        ("ternary", "`if` on a block", "tl.where(mask, a, b)"),
        ("if_in_if", "`if` on a block", "tl.where(mask, a, b)"),
        ("elif", "`if` on a block", "tl.where(mask, a, b)"),
        ("bool", "one truth value", "tl.max(mask, axis=0)"),
    ],
)
def test_the_truth_of_a_block(how, says, way_out):
    out = torch.zeros(8)
    with pytest.raises(UnsupportedError) as caught:
        truth_kernel[(1,)](torch.ones(8), out, 5, BLOCK=8, HOW=how)
    assert says in str(caught.value) and "shape (8,)" in str(caught.value) and way_out in caught.value.hint
    assert caught.value.kernel == "truth_kernel" and caught.value.text
    assert not out.any()


@triton.jit
def scalar_truth_kernel(x_ptr, out_ptr, n, flag, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    total = tl.sum(x, axis=0)
    if n > 3 and flag:
        x = x + 1
    if not (total < 0) or n == 0:
        x = x * 2
    if 0 < n < 9:
        x = x + 3
    while n > 0:
        n -= 2
    x = x if n == 0 else x + n
    tl.store(out_ptr + offs, x)


def test_scalars_may_be_asked():
    out = torch.zeros(4)
    scalar_truth_kernel[(1,)](torch.ones(4), out, 5, True, BLOCK=4)
    assert out.tolist() == [6.0] * 4  # ((1 + 1) * 2 + 3) - 1


@triton.jit
def indexing_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, HOW: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    if HOW == "int":
        x = x[0]
    elif HOW == "slice":
        x = x[0:2]
    elif HOW == "step":
        x = x[::2]
    elif HOW == "block":
        x = x[offs]
    elif HOW == "scalar":
        x = x[tl.program_id(0)]
    elif HOW == "pair":
        x = x[None, 0]
    elif HOW == "assign":
        x[0] = 1.0
    elif HOW == "legal":
        x = tl.sum(x[None, :] + tl.zeros((BLOCK, 1), tl.float32)[:, :], axis=0)
    tl.store(out_ptr + offs, x)


@pytest.mark.parametrize("how, says", [("int", "[0]"), ("slice", "a slice"), ("step", "a slice"), ("block", "a block"), ("scalar", "a block"), ("pair", "[0]")])
def test_indexing_a_block(how, says):
    with pytest.raises(UnsupportedError) as caught:
        run(indexing_kernel, torch.ones(8), BLOCK=8, HOW=how)
    assert f"indexing a block with {says}" in str(caught.value) and "only None and :" in caught.value.hint


def test_assigning_to_a_lane():
    with pytest.raises(KernelError) as caught:
        run(indexing_kernel, torch.ones(8), BLOCK=8, HOW="assign")
    assert "tl.where(offs == i, value, x)" in caught.value.hint


def test_none_and_colon_may_index():
    assert run(indexing_kernel, torch.ones(8), BLOCK=8, HOW="legal").tolist() == [8.0] * 8


# loops


@triton.jit
def loop_kernel(out_ptr, n, step, HOW: tl.constexpr, N: tl.constexpr):
    total = 0
    if HOW == "range":
        for i in range(n):
            total += i.to(tl.int32)
    elif HOW == "from_to":
        for i in range(1, n, step):
            total += i
    elif HOW == "down":
        for i in range(n, 0, -1):
            total += i
    elif HOW == "tl.range":
        for i in tl.range(0, n, step, num_stages=2):
            total += i
    elif HOW == "tl.range step":
        for i in tl.range(n, step=step):
            total += i
    elif HOW == "static":
        for i in tl.static_range(N):
            total += i * (n if i < 2 else 0)
    elif HOW == "static step":
        for i in tl.static_range(0, N, step=2):
            total += i
    elif HOW == "constexpr":
        for i in range(0, N):
            total += i
    elif HOW == "float":
        for i in range(0, n / 2):
            total += i
    elif HOW == "block":
        for i in range(0, tl.arange(0, 4)):
            total += i
    elif HOW == "static of a value":
        for i in tl.static_range(n):
            total += i
    elif HOW == "cdiv":
        for i in range(0, tl.cdiv(n, 2)):
            total += i
    elif HOW == "break":
        for i in range(n):
            if i == 3:
                break
            if i == 1:
                continue
            total += i
    tl.store(out_ptr, total)


@pytest.mark.parametrize(
    "how, expected",
    [("range", 21), ("from_to", 9), ("down", 28), ("tl.range", 12), ("tl.range step", 12), ("static", 7), ("static step", 2), ("constexpr", 6), ("cdiv", 6), ("break", 2)],
)
def test_loops(how, expected):
    out = torch.zeros(1, dtype=torch.int32)
    loop_kernel[(1,)](out, 7, 2, HOW=how, N=4)
    assert out.item() == expected


@pytest.mark.parametrize("how, says, way_out", [("float", "is a fp32, not an integer", "//"), ("block", "block of shape", "one integer to another"), ("static of a value", "must be a constexpr", "tl.constexpr")])
def test_bounds_that_cannot_be(how, says, way_out):
    with pytest.raises(UnsupportedError) as caught:
        loop_kernel[(1,)](torch.zeros(1, dtype=torch.int32), 7, 2, HOW=how, N=4)
    assert says in str(caught.value) and way_out in caught.value.hint


@triton.jit
def loop_type_kernel(out_ptr, n):
    for i in range(n, n + 1):
        tl.static_assert(i.dtype == tl.int64)
        tl.store(out_ptr, i * 2)
    for j in range(3):
        tl.static_assert(j.dtype == tl.int32)


def test_the_loop_variable_has_the_type_of_its_bounds():
    out = torch.zeros(1, dtype=torch.int64)
    loop_type_kernel[(1,)](out, 2**33)
    assert out.item() == 2**34


# functions


@triton.jit
def affine(x, scale=2.0, shift: tl.constexpr = 1):
    return x * scale + shift


@triton.jit
def twice_affine(x):
    return affine(affine(x))


@triton.jit
def two_results(x):
    return x + 1, x - 1


@triton.jit
def early(x, FLAG: tl.constexpr):
    if FLAG:
        return x
    return x * 10


@triton.jit
def calls_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, F: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    a = affine(x, shift=3)
    b, c = two_results(a)
    d = affine(scale=0.5, x=b) + F(c)
    tl.store(out_ptr + offs, early(d, True) + early(x, FLAG=False))


def test_device_functions_with_keywords_defaults_and_several_results():
    x = torch.arange(8.0)
    a = x * 2 + 3
    expected = (a + 1) * 0.5 + 1 + ((a - 1) * 2 + 1) + x * 10
    assert torch.equal(run(calls_kernel, x, BLOCK=8, F=affine), expected)


def make_kernel(scale):
    @triton.jit
    def inner(x):
        return x * scale

    @triton.jit
    def scaled_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        tl.store(out_ptr + offs, inner(tl.load(x_ptr + offs)) + scale)

    return scaled_kernel


def test_kernels_defined_in_functions_see_what_they_close_over():
    x = torch.arange(8.0)
    two, five = make_kernel(2), make_kernel(5)
    assert torch.equal(run(two, x, BLOCK=8), x * 2 + 2)
    assert torch.equal(run(five, x, BLOCK=8), x * 5 + 5)
    assert torch.equal(run(two, x, BLOCK=8), x * 2 + 2)


SHIFT = tl.constexpr(4)
TABLE: tl.constexpr = 3


@triton.jit
def globals_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    HALF: tl.constexpr = BLOCK // 2
    low = tl.arange(0, HALF)
    for i in range(0, BLOCK, SHIFT):
        if SHIFT > 3:
            tl.store(out_ptr + i + tl.arange(0, SHIFT), tl.load(x_ptr + i + tl.arange(0, SHIFT)) + TABLE)
    tl.store(out_ptr + low, tl.load(out_ptr + low) + HALF)


def test_constexpr_globals_and_locals():
    x = torch.arange(8.0)
    expected = x + 3
    expected[:4] += 4
    assert torch.equal(run(globals_kernel, x, BLOCK=8), expected)


@triton.jit(do_not_specialize=["n"], noinline=True)
def options_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr = 8):
    """A kernel with options, a docstring, and a default."""
    offs = tl.arange(0, BLOCK)
    tl.store(
        out_ptr + offs,
        tl.load(
            x_ptr + offs,
            mask=offs < n,
            other=-1.0,
        ),
    )


def test_jit_options_defaults_and_statements_over_several_lines():
    out = torch.zeros(8)
    options_kernel[(1,)](torch.ones(8), out, n=3, num_warps=4, num_stages=2)
    assert out.tolist() == [1.0] * 3 + [-1.0] * 5


def test_a_redefined_kernel_is_the_new_one():
    made = []
    for number in (1, 2):
        source = f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef again_kernel(out_ptr):\n    tl.store(out_ptr, {number})\n"
        names = {}
        import linecache

        file = f"<ipython-input-{number}-again>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), names)
        made.append(names["again_kernel"])
    for number, kernel in enumerate(made, 1):
        out = torch.zeros(1)
        kernel[(1,)](out)
        assert out.item() == number


# assertions


@triton.jit
def assert_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, HOW: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    if HOW == "device":
        tl.device_assert(x > 0, "x must be positive")
    elif HOW == "python":
        assert x > 0, "x must be positive"
    elif HOW == "python scalar":
        assert tl.sum(x, axis=0) > 100, "x must be large"
    elif HOW == "static":
        tl.static_assert(BLOCK == 16, "BLOCK must be 16")
    elif HOW == "bare":
        tl.device_assert(x > 0)
    tl.store(out_ptr + tl.arange(0, BLOCK), x)


@pytest.mark.parametrize("how, says", [("device", "in 3 of 8 lanes: x must be positive"), ("python", "in 3 of 8 lanes: x must be positive"), ("python scalar", "x must be large"), ("static", "BLOCK must be 16"), ("bare", "in 3 of 8 lanes")])
def test_assertions_that_fail(how, says):
    x = torch.arange(8.0) - 2
    with pytest.raises(KernelError) as caught:
        run(assert_kernel, x, BLOCK=8, HOW=how)
    assert says in str(caught.value) and isinstance(caught.value.original, AssertionError)


@pytest.mark.parametrize("how", ["device", "python", "bare"])
def test_assertions_that_hold(how):
    x = torch.arange(8.0) + 1
    assert torch.equal(run(assert_kernel, x, BLOCK=8, HOW=how), x)


# riddles, translated


@triton.jit
def riddle_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, HOW: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    if HOW == "arange":
        x = x + tl.arange(0, 6)
    elif HOW == "arange of a value":
        x = x + tl.arange(0, n)
    elif HOW == "zeros of a value":
        x = x + tl.zeros((n,), tl.float32)
    elif HOW == "zeros":
        x = x + tl.zeros((6,), tl.float32)
    elif HOW == "computed size":
        half = BLOCK // 2
        x = x + tl.arange(0, half)
    elif HOW == "shapes":
        x = x[:, None] + tl.zeros((4, 4), tl.float32)
    elif HOW == "tanh":
        x = tl.tanh(x)
    elif HOW == "libdevice":
        x = libdevice.brev(x)
    elif HOW == "exp of int":
        x = tl.exp(offs)
    elif HOW == "store result":
        x = tl.store(out_ptr + offs, x)
    elif HOW == "print store":
        print(tl.store(out_ptr + offs, x))
    elif HOW == "int mask":
        x = tl.load(x_ptr + offs, mask=offs)
    elif HOW == "int store mask":
        tl.store(out_ptr + offs, x, mask=offs)
    elif HOW == "float offset":
        x = tl.load(x_ptr + x)
    elif HOW == "scalar pointer, block mask":
        x = tl.load(x_ptr, mask=offs < n)
    elif HOW == "scalar pointer, block value":
        tl.store(out_ptr, x)
    elif HOW == "load of a number":
        x = tl.load(offs)
    elif HOW == "pointer product":
        x = tl.load(x_ptr * 2)
    elif HOW == "other without mask":
        x = tl.load(x_ptr + offs, other=0.0)
    elif HOW == "dot shapes":
        x = tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((32, 16), tl.float32))
    elif HOW == "dot dtypes":
        x = tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((16, 16), tl.float16))
    elif HOW == "axis":
        x = tl.sum(x, axis=1)
    elif HOW == "undefined":
        x = x + missing_name  # noqa: F821
    elif HOW == "attribute":
        x = x + tl.no_such_function(x)
    elif HOW == "method":
        x = x.mean()
    elif HOW == "arguments":
        x = affine()
    elif HOW == "too many":
        x = affine(x, 1, 2, 3)
    elif HOW == "float":
        x = x + float(x)
    elif HOW == "int of block":
        x = x + int(offs)
    elif HOW == "numpy":
        x = x + len(x)
    elif HOW == "rand":
        x = tl.rand(x_ptr, offs)
    elif HOW == "rand of an address":
        x = tl.rand(x_ptr.to(tl.int64), offs)
    elif HOW == "rand of a float":
        x = tl.rand(1.5, offs)
    elif HOW == "block ptr":
        x = tl.load(tl.make_block_ptr(x_ptr, (8,), (1,), (0,), (8,), (0,)))
    elif HOW == "inline":
        x = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out_ptr + offs, x)


RIDDLES = [
    ("arange", "power of 2", "triton.next_power_of_2(n)"),
    ("arange of a value", "constexpr", "BLOCK_SIZE: tl.constexpr"),
    ("zeros of a value", "constexpr", "BLOCK_SIZE: tl.constexpr"),
    ("zeros", "power of 2", "power of two"),
    ("computed size", "constexpr", "HALF: tl.constexpr = BLOCK_SIZE // 2"),
    ("shapes", "", "x[:, None]"),
    ("tanh", "tl.tanh does not exist", "tl.sigmoid(2 * x)"),
    ("libdevice", "libdevice.brev", "tl.sigmoid"),
    ("exp of int", "", "x.to(tl.float32)"),
    ("store result", "the result of tl.store is used", "tl.load it again"),
    ("print store", "the result of tl.store is used", "tl.load it again"),
    ("int mask", "mask", "m != 0"),
    ("int store mask", "", "m != 0"),
    ("float offset", "", "types"),
    ("scalar pointer, block mask", "", "x_ptr + offs"),
    ("scalar pointer, block value", "", "x_ptr + offs"),
    ("load of a number", "", "pointer"),
    ("pointer product", "", "types"),
    ("other without mask", "", "mask"),
    ("dot shapes", "", "(M, K) and (K, N)"),
    ("dot dtypes", "", "one dtype"),
    ("axis", "axis 1", "axis=0"),
    ("undefined", "missing_name", "pass it as an argument"),
    ("attribute", "tl.no_such_function does not exist", "triton.language"),
    ("method", "a block has no .mean", "triton.language"),
    ("arguments", "missing", "parameters"),
    ("too many", "argument", "parameters"),
    ("float", "", "x.to(tl.float32)"),
    ("int of block", "one integer", ""),
    ("numpy", "", "x.shape"),
    ("rand", "the seed of tl.rand is the address of a tensor", "seed = tl.load(seed_ptr)"),
    ("rand of an address", "the seed of tl.rand is the address of a tensor", "seed = tl.load(seed_ptr)"),
    ("rand of a float", "1.5, not an integer", "pass an int"),
    ("inline", "only on a GPU", "CUDA tensors"),
]
if NEWER >= (3, 9):
    RIDDLES.append(("block ptr", "", "tl.make_tensor_descriptor"))


@pytest.mark.parametrize("how, says, way_out", RIDDLES, ids=[r[0] for r in RIDDLES])
def test_riddles_are_translated(how, says, way_out):
    with pytest.raises(KernelError) as caught:
        riddle_kernel[(1,)](torch.ones(8), torch.zeros(8), 8, BLOCK=8, HOW=how)
    error = caught.value
    assert says in error.message, error.message
    assert way_out in error.hint, (error.message, error.hint)
    assert error.message.strip() and "Interpreter" not in error.message and error.text


@triton.jit
def rand_kernel(seed_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.rand(tl.load(seed_ptr), offs))
    tl.store(out_ptr + BLOCK + offs, tl.randn(42, offs))
    tl.store(out_ptr + 2 * BLOCK + offs, tl.randint(42, offs).to(tl.float32))


def test_random_numbers_are_a_function_of_seed_and_offset():
    a, b = torch.zeros(3, 64), torch.zeros(3, 64)
    for out in (a, b):
        rand_kernel[(1,)](torch.tensor([123]), out, BLOCK=64)
    assert torch.equal(a, b) and 0 <= a[0].min() and a[0].max() < 1 and a[0].unique().numel() > 60
    rand_kernel[(1,)](torch.tensor([124]), b, BLOCK=64)
    assert not torch.equal(a[0], b[0]) and torch.equal(a[1:], b[1:])


# the library


@triton.jit
def library_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.softmax(x))
    tl.store(out_ptr + BLOCK + offs, tl.sigmoid(x))
    tl.store(out_ptr + 2 * BLOCK + offs, tl.flip(x, 0))
    tl.store(out_ptr + 3 * BLOCK + offs, tl.cumsum(x, axis=0))
    tl.store(out_ptr + 4 * BLOCK + offs, tl.ravel(tl.trans(tl.reshape(x, (2, BLOCK // 2)))))
    tl.store(out_ptr + 5 * BLOCK + offs, tl.erf(x))
    tl.store(out_ptr + 6 * BLOCK + offs, tl.zeros_like(x) + tl.xor_sum(offs, axis=0))
    tl.store(out_ptr + 7 * BLOCK + offs, tl.interleave(tl.arange(0, BLOCK // 2), tl.arange(0, BLOCK // 2)).to(tl.float32))


def test_functions_of_the_library():
    x = torch.tensor([0.5, -1.0, 2.0, 0.0, 3.0, -2.0, 1.0, 0.25])
    out = torch.zeros(8, 8)
    library_kernel[(1,)](x, out, BLOCK=8)
    expected = [x.softmax(0), x.sigmoid(), x.flip(0), x.cumsum(0), x.view(2, 4).T.reshape(-1), x.erf(), torch.zeros(8), torch.tensor([0, 0, 1, 1, 2, 2, 3, 3.0])]
    torch.testing.assert_close(out, torch.stack(expected), rtol=1e-5, atol=1e-6)


@triton.jit
def transposed_store_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    tl.store((out_ptr + n[:, None] * M + m[None, :]), x.T)
    tl.store((out_ptr + M * N + m[:, None] * N + n[None, :]).T, x.T)


def test_transposed_blocks_of_values_and_pointers():
    x = torch.arange(32.0).view(4, 8)
    out = torch.zeros(2, 32)
    transposed_store_kernel[(1,)](x, out, M=4, N=8)
    assert torch.equal(out[0].view(8, 4), x.T) and torch.equal(out[1].view(4, 8), x)


@pytest.mark.parametrize("power", [16, 20])
def test_large_blocks(power):
    x = torch.arange(1 << power, dtype=torch.float32)
    out = torch.zeros(1 << power)
    plain_copy_kernel[(1,)](x, out, BLOCK=1 << power)
    assert torch.equal(out, x)


@triton.jit
def plain_copy_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


@triton.jit
def libdevice_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, libdevice.tanh(x))
    tl.store(out_ptr + BLOCK + offs, cuda_libdevice.pow(libdevice.abs(x), 2.5))
    tl.store(out_ptr + 2 * BLOCK + offs, renamed_rint(x) + tl.extra.libdevice.round(x))
    tl.store(out_ptr + 3 * BLOCK + offs, tl.where(libdevice.isnan(x / 0.0), 1.0, libdevice.fmod(x, 0.75)))


def test_functions_of_libdevice():
    x = torch.tensor([0.0, -0.5, 1.5, 2.5, 3.25, -2.5, 0.3, 9.0])
    out = torch.zeros(4, 8)
    libdevice_kernel[(1,)](x, out, BLOCK=8)
    expected = [x.tanh(), x.abs() ** 2.5, x.round() + torch.tensor([0.0, -1.0, 2.0, 3.0, 3.0, -3.0, 0.0, 9.0]), torch.where(x == 0, 1.0, x.fmod(0.75))]
    torch.testing.assert_close(out, torch.stack(expected))
    assert libdevice.tanh(x) is None  # outside of kernels it is what it was


def test_a_device_function_called_outside_of_a_kernel():
    with pytest.raises(LaunchTypeError) as caught:
        affine(torch.ones(4))
    assert "without a grid" in str(caught.value) and "affine[(number_of_programs,)]" in caught.value.hint
