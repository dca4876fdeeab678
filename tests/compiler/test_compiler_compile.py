import dataclasses
import os
import subprocess
import sys

import pytest
import torch
import triton
from compiler_kernels import add_kernel, row_sum_kernel
from compiler_work import add_work

import tritonlab as lab
from tritonlab.compiler import Compilations, Compiled, CompileError, compiling, variants, worker
from tritonlab.errors import LaunchError


def test_repr_says_what_the_compiler_made(add):
    assert (
        repr(add)
        == f"<Compiled add_kernel sm_90: {add.registers} registers, 0 spilled, 0 B shared, {add.instructions} instructions>"
    )
    assert repr(add.ptx).startswith(f"<Counts {add.ptx.total} instructions: 4 global load, 2 global store, ")


def test_it_carries_what_it_was_made_from(add):
    assert (add.kernel, add.target, add.triton_version, add.grid) == ("add_kernel", "sm_90", triton.__version__, (97, 1, 1))
    assert add.meta == {"BLOCK_SIZE": 1024}
    assert add.options == {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}
    assert add.variant == (
        "add_kernel(x_ptr: *fp32:16, y_ptr: *fp32:16, out_ptr: *fp32:16, n_elements: i32:16, BLOCK_SIZE=1024, "
        "num_warps=4, num_stages=3, num_ctas=1, maxnreg=None)"
    )
    assert set(add.asm) == {"ttir", "ttgir", "llir", "ptx", "sass"} and all(add.asm.values())
    assert (
        "tt.load" in add.asm["ttir"]
        and "#blocked" in add.asm["ttgir"]
        and "ld.global.v4" in add.asm["ptx"]
        and "LDG.E.128" in add.asm["sass"]
    )
    assert [f.name for f in add.functions] == ["add_kernel"] and add.functions[0].source.startswith(
        "@triton.jit\ndef add_kernel("
    )


def test_no_text_names_a_folder_of_this_machine(add, row_sum):
    for c in (add, row_sum[1]):
        for stage, text in c.asm.items():
            assert os.sep + "site-packages" not in text and os.path.dirname(__file__) not in text and "/tmp/" not in text, stage


def test_it_is_frozen_and_equal_when_made_again(add, odd_add):
    with pytest.raises(dataclasses.FrozenInstanceError):
        add.registers = 3
    assert lab.compile(add_work()) == add != odd_add
    with pytest.raises(TypeError, match="unhashable"):
        hash(add)


def test_the_same_again_asks_no_compiler(add, monkeypatch):
    monkeypatch.setattr(worker, "run_all", lambda wanted: [] if not wanted else pytest.fail("compiled again"))
    assert lab.compile(add_work()) == add
    monkeypatch.setattr(compiling, "_MEMORY", {})
    assert lab.compile(add_work()) == add, "from the disk"


def test_a_kernel_compiles_after_interpreted_launches():
    x = torch.arange(100.0)
    out = torch.zeros(100)
    launch = lambda: add_kernel[(2,)](x, x, out, 100, BLOCK_SIZE=64)  # noqa: E731
    launch()
    before = out.clone()
    c = lab.compile(launch, "sm_80", {"BLOCK_SIZE": 128})
    assert c.target == "sm_80" and c.meta == {"BLOCK_SIZE": 128}
    assert torch.equal(out, before) and torch.equal(out, x + x), "compiling ran nothing"
    out.zero_()
    launch()
    assert torch.equal(out, before), "and interpreting still works"


def test_several_launches_come_in_their_order(add):
    x = torch.empty(8, 4096, device="meta")
    out = torch.empty(8, device="meta")

    def work():
        add_work()()
        row_sum_kernel[(8,)](x, out, x.stride(0), 1, 4096, False, BLOCK_SIZE=4096)

    made = lab.compile(work)
    assert isinstance(made, Compilations) and [c.kernel for c in made] == ["add_kernel", "row_sum_kernel"]
    assert made[0] == add and len(made) == 2 and isinstance(made[:1], Compilations) and made[:1].only == add
    with pytest.raises(ValueError, match=r"2 compiled launches; choose one \(\[0\] is add_kernel, \[1\] is row_sum_kernel\)"):
        made.only


def test_work_that_launches_nothing_is_refused():
    with pytest.raises(LaunchError, match="launched no Triton kernel"):
        lab.compile(lambda: torch.zeros(3))
    with pytest.raises(TypeError, match="takes a callable"):
        lab.compile(torch.zeros(3))


@pytest.mark.parametrize("target", ["sm_91", "sm90", 90, "h100"])
def test_an_unknown_target_is_named(target):
    with pytest.raises(ValueError, match="target is .*it can be sm_75, sm_80"):
        lab.compile(add_work(), target)


def test_variants_are_all_combinations_the_last_fastest(own_cache):
    made = variants(add_work(), "sm_80", BLOCK_SIZE=[1024, 1000], num_warps=[4, 8])
    assert [(c.meta["BLOCK_SIZE"], c.options["num_warps"], c.fits) for c in made] == [
        (1024, 4, True), (1024, 8, True), (1000, 4, False), (1000, 8, False),
    ]  # fmt: skip
    assert "power of two" in made[2].problems[0] and made[2].line > 0 and "arange" in made[2].text
    assert isinstance(made[0], Compiled) and repr(made[2]).startswith("<Failed add_kernel sm_80: ")
    with pytest.raises(TypeError, match="num_warps takes a list"):
        variants(add_work(), num_warps=4)


def test_what_needs_too_much_shared_memory_compiles_and_does_not_fit(add):
    big = dataclasses.replace(add, shared=256 * 1024)
    assert add.fits and not big.fits and big.occupancy.programs == 0
    assert big.problems == ("needs 256 KiB of shared memory, and a program on sm_90 gets at most 227 KiB",)
    assert repr(big).endswith("does not fit>")


def test_a_compiler_that_aborts_harms_only_its_own_process(monkeypatch):
    def abort(request, folder):
        os.write(2, b"LLVM ERROR: Cannot select: 0x55: f32 = nonsense\n")
        os.abort()

    monkeypatch.setattr(worker, "_compile", abort)
    with pytest.raises(CompileError, match="crashed.*SIGABRT.*Cannot select") as caught:
        lab.compile(add_work(), override={"BLOCK_SIZE": 32})
    assert caught.value.line > 0 and "def add_kernel" in caught.value.text


def test_a_compiler_that_does_not_end_is_ended(monkeypatch):
    import time

    monkeypatch.setattr(worker, "_compile", lambda request, folder: time.sleep(60))
    monkeypatch.setattr(worker.run_all, "__defaults__", (0.2,))
    with pytest.raises(CompileError, match="had not finished in time"):
        lab.compile(add_work(), override={"BLOCK_SIZE": 64})


def test_what_a_failed_compilation_leaves_is_not_kept(own_cache):
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(worker, "_compile", lambda request, folder: 1 / 0)
    with pytest.raises(CompileError):
        lab.compile(add_work(), override={"BLOCK_SIZE": 128})
    monkeypatch.undo()
    assert lab.compile(add_work(), override={"BLOCK_SIZE": 128}).kernel == "add_kernel"


def test_importing_tritonlab_loads_no_compiler_room():
    code = "import sys, tritonlab; bad = [m for m in sys.modules if m.startswith('tritonlab.compiler')]; assert not bad, bad; tritonlab.compile; assert 'tritonlab.compiler.compiling' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
