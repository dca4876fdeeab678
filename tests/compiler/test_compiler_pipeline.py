"""How a loop was pipelined, read off the compiler's text: the same facts as shared memory and instruction counts."""

import dataclasses

import pytest
import torch
import triton
import triton.language as tl
from compiler_work import course_matmul_work, matmul_work

import tritonlab as lab
from tritonlab.compiler import variants
from tritonlab.compiler.pipeline import Buffer
from tritonlab.compiler.ttgir import pipeline, pipelines

KIB = 1024
STAGES = [1, 2, 3, 4, 5]
TILES = {"a": (128, 64), "b": (64, 128)}


@triton.jit
def sum_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr, STAGES: tl.constexpr):
    offs = tl.arange(0, BLOCK_SIZE)
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for start in tl.range(0, n_elements, BLOCK_SIZE, num_stages=STAGES):
        x = tl.load(x_ptr + start + offs, mask=start + offs < n_elements, other=0.0)
        total += x
    tl.store(out_ptr + offs, total)


@triton.jit
def described_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    offs_m, offs_n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([offs_m, k])
        b = b_desc.load([k, offs_n])
        acc = tl.dot(a, b, acc)
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    c_desc.store([offs_m, offs_n], acc.to(tl.float16))


def sum_work(stages=None, **options):
    x = torch.empty(1 << 20, device="meta")
    return lambda: sum_kernel[(1,)](x, x, x.numel(), BLOCK_SIZE=1024, STAGES=stages, **options)


def described_work():
    x = torch.empty(4096, 4096, dtype=torch.float16, device="meta")
    return lambda: described_kernel[(32, 32)](
        x, x, x, *([4096] * 3), BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=3
    )


@pytest.fixture(scope="module")
def course100(own_cache):
    return variants(course_matmul_work(), "sm_100", num_stages=STAGES)


@pytest.fixture
def course(request, course80, course90, course100):
    return {"sm_80": course80, "sm_90": course90, "sm_100": course100}[request.param]


every = pytest.mark.parametrize("course", ["sm_80", "sm_90", "sm_100"], indirect=True)


@every
def test_tiles_are_copied_one_step_fewer_ahead_than_there_are_stages(course):
    assert [c.pipeline.stages for c in course] == STAGES
    for c in course:
        p = c.pipeline
        assert p.ahead == c.num_stages - 1 and {b.ahead for b in p.buffers} == {p.ahead}
        assert (p.how, p.loads, p.inside) == (("registers", 2, 0) if p.stages == 1 else ("cp.async", 0, 2))


@pytest.mark.parametrize(
    "course, slots", [("sm_80", [1, 1, 2, 3, 4]), ("sm_90", [1, 2, 3, 4, 5]), ("sm_100", [1, 2, 3, 4, 5])], indirect=["course"]
)
def test_sm_80_keeps_one_buffer_fewer_because_its_dot_reads_registers(course, slots):
    for c, n in zip(course, slots):
        p = c.pipeline
        assert p.slots == n and p.running == (0 if c.target == "sm_80" or p.stages == 1 else 1)
        assert {b.name: (b.shape, b.dtype, b.slots, b.bytes, b.argument) for b in p.buffers} == {
            name: (shape, "fp16", n, n * 16 * KIB, f"{name}_ptr") for name, shape in TILES.items()
        }


@every
def test_the_buffers_are_the_compiled_shared_memory(course):
    for c in course:
        assert c.pipeline.bytes + c.pipeline.barriers == c.shared
        assert c.pipeline.barriers == (0 if c.target != "sm_100" else 8 if c.num_stages == 1 else 16)


@every
def test_copies_are_those_of_the_instructions(course):
    """One copy of a tile is 4 cp.async a thread: 16 KiB for 256 threads, 16 bytes each."""
    for c in course:
        p = c.pipeline
        assert 4 * (p.before + p.inside) == c.ptx.copies == c.sass.copies
        first = 0 if p.stages == 1 or c.target != "sm_100" else 1  # there a dot, too, is begun before the loop
        assert p.before == 2 * (p.ahead + first)


@every
def test_waits_leave_the_copies_of_later_steps_under_way(course):
    for c in course:
        assert set(c.pipeline.waits) == (set() if c.num_stages == 1 else {2 * (c.num_stages - 2)})


@every
def test_lines_are_those_of_the_learners_loop(course):
    for c in course:
        tile = next(f for f in c.functions if f.name == "matmul_tile")
        lines = tile.source.split("\n")
        for b in c.pipeline.buffers:
            assert b.function == "matmul_tile" and f"{b.name} = tl.load({b.name}_ptrs" in lines[b.line - tile.first_line]
        assert c.pipeline.function == "matmul_tile"
        assert "for k in range" in lines[c.pipeline.line - tile.first_line]


def test_two_warps_on_sm_90_keep_one_buffer_fewer_too():
    """64×64 with 2 warps has no warp group: mma.sync, as on sm_80."""
    c = lab.compile(course_matmul_work(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=2, num_stages=4))
    assert (c.ptx.wgmma, c.pipeline.running, c.pipeline.stages, c.pipeline.slots) == (0, 0, 4, 3)


@pytest.mark.parametrize("target, slots", [("sm_80", 2), ("sm_90", 3)])
def test_an_odd_k_leaves_only_b_pipelined(target, slots):
    p = lab.compile(matmul_work(k=4095, num_stages=3), target).pipeline
    assert {b.name: (b.slots, b.ahead) for b in p.buffers} == {"a": (1, 0), "b": (slots, 2)}
    assert (p.loads, p.inside, p.before, p.stages, p.slots) == (1, 1, 2, 3, slots)


@pytest.mark.parametrize("work", [matmul_work(4095, num_stages=3), sum_work(num_stages=4)], ids=["odd sizes", "no dot"])
def test_stages_asked_for_are_not_always_made(work):
    c = lab.compile(work)
    assert (c.pipeline.stages, c.ptx.copies) == (1, 0) and c.num_stages > 1


def test_tl_range_pipelines_a_loop_without_a_dot():
    c = lab.compile(sum_work(4))
    assert c.pipeline.buffers == (Buffer("x", (1024,), "fp32", 3, 12 * KIB, 3, "x_ptr", "sum_kernel", c.pipeline.buffers[0].line),)
    assert (c.pipeline.stages, c.pipeline.dot, c.shared) == (4, False, 12 * KIB)


def test_sm_75_pipelines_nothing():
    c = lab.compile(course_matmul_work(BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, num_warps=2, num_stages=4), "sm_75")
    assert (c.pipeline.stages, c.pipeline.how) == (1, "registers")


@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_descriptors_are_copied_by_tma(target):
    c = lab.compile(described_work(), target)
    p = c.pipeline
    assert c.ptx.tma >= p.before + p.inside and c.sass.tma > 0 and c.ptx.copies == 0
    assert (p.how, p.stages, p.slots, p.waits) == ("TMA", 3, 3, ())
    assert [(b.name, b.shape, b.slots, b.ahead) for b in p.buffers] == [("a", (128, 64), 3, 2), ("b", (64, 128), 3, 2)]


def test_a_kernel_without_a_loop_has_no_pipeline(add, row_sum):
    assert add.pipeline is None and row_sum[0].pipeline is None


def test_repr_counts_the_tiles(course80):
    assert repr(course80[2].pipeline) == "<Pipeline 3 stages by cp.async: 2 × a 128×64 fp16, 2 × b 64×128 fp16, 65536 B>"
    assert repr(course80[0].pipeline) == "<Pipeline 1 stage, not pipelined: 1 × a 128×64 fp16, 1 × b 64×128 fp16, 32768 B>"
    assert repr(course80[2].pipeline.buffers[0]) == "<Buffer a 2 × 128×64 fp16, 32768 B, 2 ahead>"


# The text alone.

LOOP = """#loc = loc("k":1:0)
#loc3 = loc("k":5:4)
#loc4 = loc("k":6:4)
#loc9 = loc("x"(#loc4))
module {
  tt.func public @k(%x_ptr: !tt.ptr<f32> loc(#loc), %n: i32 loc(#loc)) {
    %p = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc)
    %x = ttg.local_alloc : () -> !ttg.memdesc<2x64xf32, #s, #m, mutable> loc(#loc9)
    %x_1 = ttg.memdesc_index %x[%c0] : !ttg.memdesc<2x64xf32, #s, #m, mutable> -> !ttg.memdesc<64xf32, #s, #m, mutable> loc(#loc9)
    %x_2 = ttg.async_copy_global_to_local %p, %x_1 : tensor<64x!tt.ptr<f32>> -> <64xf32, #s, #m, mutable> loc(#loc9)
    %r = scf.for %i = %c0 to %n step %c64 iter_args(%t = %x_2) -> (!ttg.async.token)  : i32 {
      %w = ttg.async_wait %t {num = 0 : i32} loc(#loc9)
      %x_3 = ttg.memdesc_index %x[%j] : !ttg.memdesc<2x64xf32, #s, #m, mutable> -> !ttg.memdesc<64xf32, #s, #m, mutable> loc(#loc9)
      %x_4 = ttg.async_copy_global_to_local %p, %x_3 : tensor<64x!tt.ptr<f32>> -> <64xf32, #s, #m, mutable> loc(#loc9)
      scf.yield %x_4 : !ttg.async.token loc(#loc3)
    } loc(#loc3)
    %q = scf.for %i = %c0 to %n step %c64 iter_args(%t = %p) -> (tensor<64x!tt.ptr<f32>>)  : i32 {
      %y = tt.load %t : tensor<64x!tt.ptr<f32>> loc(#loc)
      scf.yield %t : tensor<64x!tt.ptr<f32>> loc(#loc3)
    } loc(#loc3)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""


def test_each_loop_is_read_with_what_comes_before_it_alone():
    first, second = pipelines(LOOP)
    assert (first.stages, first.before, first.inside, first.waits, first.line) == (2, 1, 1, (0,), 5)
    assert first.buffers == (Buffer("x", (64,), "fp32", 2, 512, 1, "x_ptr", "k", 6),)
    assert (second.stages, second.before, second.loads, second.buffers) == (1, 0, 1, ())
    assert pipeline(LOOP) == first


def test_no_loop_no_load_or_other_warps_give_none():
    assert pipeline("") is None and pipeline("module {\n}\n") is None
    scalar = LOOP.replace("tensor<64x!tt.ptr<f32>> loc", "!tt.ptr<f32> loc").split("    %x = ")[0]
    assert pipelines(scalar + "    %q = scf.for %i = %a to %b step %c {\n      %y = tt.load %x_ptr : !tt.ptr<f32>\n    }\n") == ()
    assert pipelines(LOOP + "ttg.warp_specialize(%x)\n") == ()


def test_a_copy_more_before_the_loop_is_a_stage_more():
    copy = next(line for line in LOOP.splitlines(keepends=True) if "%x_2 = " in line)
    assert pipeline(LOOP.replace(copy, copy + copy.replace("%x_2", "%x_9"))).stages == 3


def test_a_compiled_kernel_carries_it(course90):
    assert dataclasses.replace(course90[2], pipeline=None) != course90[2]
