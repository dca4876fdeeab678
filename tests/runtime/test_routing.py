"""Which backend takes a launch, and what importing tritonlab does to a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
import torch
import triton
import triton.language as tl
from runtime_checks import good_kernel

import tritonlab as lab
from tritonlab.errors import LaunchError
from tritonlab.runtime import capture, observe, route


DRIVER = """
import json, os, sys, torch, traceback  # torch once, as it takes longest; Triton in each child
for name, (source, env) in json.load(sys.stdin).items():
    r, w = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(w, 1), os.dup2(w, 2), os.close(r)
        os.environ.update(env)
        code = 0
        try:
            exec(compile(source, "script", "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    os.close(w)
    said = b""
    while part := os.read(r, 65536):
        said += part
    os.close(r)
    print(json.dumps([name, os.waitpid(child, 0)[1], said.decode()]))
"""


def environment():
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_INTERPRET")}
    return {**kept, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@pytest.fixture(scope="module")
def outcomes():
    """What each of ``SCRIPTS`` printed, and whether it ended well: {name: (ended well, output)}."""
    scripts = {name: script if isinstance(script, tuple) else (script, {}) for name, script in SCRIPTS.items()}
    done = subprocess.run([sys.executable, "-c", DRIVER], input=json.dumps(scripts), capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode == 0, done.stderr
    return {name: (status == 0, said) for name, status, said in map(json.loads, done.stdout.splitlines())}


SCRIPT = """
import linecache
{first}
import torch, triton, triton.language as tl
SOURCE = '''
@triton.jit
def add_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x + tl.sum(x, axis=0), mask=offs < n)
'''
linecache.cache["learner.py"] = (len(SOURCE), None, SOURCE.splitlines(True), "learner.py")
{middle}
exec(compile(SOURCE, "learner.py", "exec"))
{last}
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget
def compiled():
    signature = dict(x_ptr="*fp32", out_ptr="*fp32", n="i32", BLOCK="constexpr")
    return len(triton.compile(ASTSource(add_kernel, signature, dict(BLOCK=8)), target=GPUTarget("cuda", 90, 32)).asm["ptx"]) > 0
x, out = torch.ones(5), torch.zeros(5)
before = set(globals())
add_kernel[(1,)](x, out, 5, BLOCK=8)
assert set(globals()) - before == {{"before"}}, set(globals()) - before
assert out.tolist() == [6.0] * 5, out
assert compiled()
print("right")
"""


def script(first, middle="", last=""):
    return SCRIPT.format(first=first, middle=middle, last=last)


SET = "import os; os.environ['TRITON_INTERPRET'] = '1'"
RIGHT = {
    "triton first": script("import triton", last="import tritonlab"),
    "torch first": script("import torch", last="import tritonlab as lab"),
    "parts first": script("import torch, triton.testing, tritonlab.kernels"),
    "TRITON_INTERPRET set before both": script(f"{SET}; import tritonlab"),
    "TRITON_INTERPRET set after both": script(f"import tritonlab; {SET}"),
    "TRITON_INTERPRET set between": script(f"import triton; {SET}", middle="import tritonlab"),
    "TRITON_INTERPRET=0": (script("import triton", last="import tritonlab"), {"TRITON_INTERPRET": "0"}),
}
WRONG = {
    "triton interpreting": (("import triton, tritonlab", {"TRITON_INTERPRET": "1"}), "ImportError: Triton was imported with TRITON_INTERPRET=1", "unset TRITON_INTERPRET"),
    "kernel defined early": (script(f"import triton; {SET}", last="import tritonlab"), "LaunchError: add_kernel was defined while TRITON_INTERPRET=1 was set", "import tritonlab first"),
    "unknown triton": ("import triton; triton.__version__ = '4.1.0'; import tritonlab", "tritonlab knows Triton 3.6 to 3.9, and this is 4.1.0", "pip install"),
    "no triton": ("import sys; sys.modules['triton'] = None; import tritonlab", "ImportError: Triton cannot be imported", "pip install triton"),
}
OTHER = {
    "any triton": ("import triton; triton.__version__ = '4.1.0'; import tritonlab; print('tried')", {"TRITONLAB_ANY_TRITON": "1"}),
    "light": "import sys, tritonlab; print(sorted(m for m in ('matplotlib', 'ipywidgets', 'anywidget', 'IPython') if m in sys.modules))",
}
SCRIPTS = {**RIGHT, **{name: source for name, (source, *_) in WRONG.items()}, **OTHER}


@pytest.mark.parametrize("name", RIGHT)
def test_importing_in_any_order_with_triton_interpret_or_without(outcomes, name):
    well, said = outcomes[name]
    assert well and said.strip().endswith("right"), said


def test_importing_tritonlab_before_torch():
    done = subprocess.run([sys.executable, "-c", script("import tritonlab")], capture_output=True, text=True, timeout=120, env=environment())
    assert done.returncode == 0 and done.stdout.strip().endswith("right"), done.stderr


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_work_is_one_clear_error(outcomes, name):
    well, said = outcomes[name]
    _, says, way_out = WRONG[name]
    assert not well and says in said and way_out in said, said


def test_an_unknown_triton_may_be_tried(outcomes):
    well, said = outcomes["any triton"]
    assert well and "tried" in said, said


def test_importing_tritonlab_stays_light(outcomes):
    well, said = outcomes["light"]
    assert well and said.strip() == "[]", said


# devices


def test_a_device_where_no_kernel_runs():
    with pytest.raises(LaunchError, match="argument x_ptr of good_kernel is on device meta"):
        good_kernel[(1,)](torch.zeros(8, device="meta"), torch.zeros(8), 8, BLOCK=8)


class Elsewhere(torch.Tensor):
    """A CPU tensor that says it is on a GPU."""

    is_cuda = True
    device = torch.device("cuda", 0)


def elsewhere(n):
    return torch.ones(n).as_subclass(Elsewhere)


@pytest.fixture
def compiled_launches(monkeypatch):
    """What would have been started on a GPU."""
    started = []
    monkeypatch.setitem(route._plain, "run", lambda self, *args, grid, warmup, **kwargs: started.append((self, args, grid, warmup, kwargs)) or "started")
    return started


def test_tensors_on_a_gpu_are_compiled(compiled_launches):
    x, out = elsewhere(8), elsewhere(8)
    assert good_kernel[(1,)](x, out, 8, BLOCK=8) == "started"
    jit, args, grid, warmup, kwargs = compiled_launches[0]
    assert jit is good_kernel and args[0] is x and grid == (1,) and not warmup and kwargs == {"BLOCK": 8}
    good_kernel[(1,)](x_ptr=x, out_ptr=out, n=8, BLOCK=8)
    assert len(compiled_launches) == 2


def test_tensors_in_two_places_are_named(compiled_launches):
    for args in ((torch.zeros(8), elsewhere(8)), (elsewhere(8), torch.zeros(8))):
        with pytest.raises(LaunchError) as caught:
            good_kernel[(1,)](*args, 8, BLOCK=8)
        assert "x_ptr is on c" in str(caught.value) and "out_ptr is on c" in str(caught.value) and ".to(" in caught.value.hint
    assert not compiled_launches


def test_gpu_tensors_are_interpreted_while_something_observes(compiled_launches):
    x, out = torch.ones(8), torch.zeros(8)

    class Watch:
        def begin(self, launch): ...
        def program(self, launch, program): ...
        def access(self, launch, event): ...
        def end(self, launch, error): ...

    with observe(Watch()):
        good_kernel[(1,)](x, out, 8, BLOCK=8)
    assert not compiled_launches and out.sum() == 16


@triton.jit
def no_tensor_kernel(BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 8)
    print("ran")


def test_a_launch_without_tensors_is_interpreted_where_there_is_no_gpu(capsys, monkeypatch, compiled_launches):
    no_tensor_kernel[(1,)](BLOCK=8)
    assert capsys.readouterr().out == "[program 0] ran\n" and not compiled_launches
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    no_tensor_kernel[(1,)](BLOCK=8)
    assert len(compiled_launches) == 1


def test_warmup_needs_a_gpu(monkeypatch, compiled_launches):
    with pytest.raises(LaunchError, match="good_kernel.warmup") as caught:
        good_kernel.warmup(torch.float32, torch.float32, 8, BLOCK=8, grid=(1,))
    assert "GPUTarget" in caught.value.hint
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    good_kernel.warmup(torch.float32, torch.float32, 8, BLOCK=8, grid=(1,))
    with observe(object()):
        good_kernel.warmup(torch.float32, torch.float32, 8, BLOCK=8, grid=(1,))
    assert [c[3] for c in compiled_launches] == [True, True]


def test_tensors_elsewhere_are_copied_and_written_back_with_all_that_shares_their_memory(monkeypatch):
    from tritonlab.runtime.arguments import Arguments

    far = torch.arange(12.0)
    rows, column = far.view(3, 4), far[::4]
    seen = []

    class FarStorage:
        def __init__(self, storage):
            self.storage, self._cdata = storage, storage._cdata

        def cpu(self):
            seen.append("copied")
            return self.storage.clone()

        def copy_(self, host):
            seen.append("written back")
            self.storage.copy_(host)

        def __getattr__(self, name):
            return getattr(self.storage, name)

    class Far(torch.Tensor):
        device = torch.device("cuda", 0)

        def untyped_storage(self):
            return FarStorage(super().untyped_storage())

    arguments = Arguments("k")
    (host_rows, number), (host_column, other) = (arguments._host(t.as_subclass(Far)) for t in (rows, column))
    assert number == other == 0 and seen == ["copied"]
    assert torch.equal(host_rows, rows) and torch.equal(host_column, column) and host_column.stride() == (4,)
    host_rows[1, 0] = -1.0
    assert host_column[1] == -1.0 and far[4] == 4.0
    arguments.write_back()
    assert far[4] == -1.0 and seen == ["copied", "written back"]


# observers, threads, captures


def test_a_launch_in_another_thread_is_traced_and_does_not_wait():
    x, out = torch.ones(8), torch.zeros(8)

    def work():
        thread = threading.Thread(target=lambda: good_kernel[(1,)](x, out, 8, BLOCK=8))
        thread.start()
        thread.join(30)
        assert not thread.is_alive()

    assert [launch.kernel for launch in lab.trace(work).launches] == ["good_kernel"]


def test_two_threads_that_trace_at_once_see_their_own_launches():
    traces, barrier = {}, threading.Barrier(2)

    def work(n):
        x, out = torch.ones(n), torch.zeros(n)

        def launch():
            barrier.wait(30)
            for _ in range(3):
                good_kernel[(1,)](x, out, n, BLOCK=8)
            barrier.wait(30)

        traces[n] = lab.trace(launch)

    threads = [threading.Thread(target=work, args=(n,)) for n in (5, 6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert {n: [launch.scalars["n"] for launch in t.launches] for n, t in traces.items()} == {5: [5, 5, 5], 6: [6, 6, 6]}


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        good_kernel[(1,)](x, out, x.numel(), BLOCK=8)
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        good_kernel[(1,)](grad.contiguous(), out, grad.numel(), BLOCK=8)
        return out


def test_launches_in_a_backward_pass():
    x = torch.ones(8, requires_grad=True)
    t = lab.trace(lambda: Scale.apply(x).sum().backward())
    assert len(t.launches) == 2 and torch.equal(x.grad, torch.full((8,), 2.0))


def test_captured_launches_do_not_run():
    x, out = torch.ones(8), torch.zeros(8)
    with capture() as launches:
        good_kernel[(1,)](x, out, 8, BLOCK=8, num_warps=2)
        good_kernel[(2, 3)](torch.zeros(8, device="meta"), torch.zeros(8, device="meta"), 8, BLOCK=8)
    assert not out.any() and [(c.grid, c.options, c.device) for c in launches] == [((1, 1, 1), {"num_warps": 2}, "cpu"), ((2, 3, 1), {}, "meta")]
    good_kernel[(1,)](x, out, 8, BLOCK=8)
    assert out.sum() == 16


def test_pre_run_hooks_get_the_arguments():
    seen = []

    @triton.jit
    def hooked_kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

    hooked_kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append((len(args), kwargs)))
    hooked_kernel[(1,)](torch.zeros(8), BLOCK=8)
    assert seen == [(1, {"BLOCK": 8})]
