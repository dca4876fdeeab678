"""Kernels that never end, fail, are interrupted or tamper with what is around them: named errors, and everything as it was."""

from __future__ import annotations

import ctypes
import re
import signal
import sys
import threading
import time

import pytest
import torch
import triton
import triton.language as tl
from runtime_checks import good_kernel, language_is_back, still_compiles, still_right

import tritonlab as lab
from tritonlab.errors import BudgetError, KernelError, KernelInterrupted, LaunchError, LaunchTypeError, OutOfBoundsError, UnsupportedError


@triton.jit
def no_mask_store_kernel(out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1.0)


@triton.jit
def neighbour_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + 1.0)


# kernels that do not end


@triton.jit
def endless_while_kernel(x_ptr):
    n = 0
    while n >= 0:
        n = 1


@triton.jit
def endless_for_kernel(x_ptr):
    for i in range(0, 1 << 40):
        tl.load(x_ptr)


@triton.jit
def prints_without_end_kernel(x_ptr):
    while True:
        print("again", tl.load(x_ptr))


@pytest.mark.parametrize("kernel", [endless_while_kernel, endless_for_kernel, prints_without_end_kernel])
def test_an_endless_loop_is_stopped_at_its_line(arena, capsys, kernel):
    x = arena.take(1)
    arena.freeze()
    with lab.limits(seconds=0.1, lines=5), pytest.raises(BudgetError) as caught:
        kernel[(3,)](x)
    arena.check()
    error = caught.value
    assert error.kernel == kernel.__name__ and error.program == (0, 0, 0)
    assert kernel.starting_line_number + 2 <= error.line <= kernel.starting_line_number + 5
    assert "lab.limits(seconds=...)" in error.hint
    said = capsys.readouterr().out.splitlines()
    assert len(said) <= 6 and (not said or "the rest is left out" in said[-1])


def forever():
    while True:
        pass


def forever_and_deaf():
    while True:
        try:
            while True:
                pass
        except BaseException:
            if time.perf_counter() > forever_and_deaf.until:
                raise


@triton.jit
def helper_without_end_kernel(x_ptr, HELPER: tl.constexpr):
    tl.load(x_ptr)
    HELPER()


def test_a_python_helper_that_never_ends_is_stopped_too(arena):
    x = arena.take(1)
    arena.freeze()
    with lab.limits(seconds=0.05), pytest.raises(BudgetError) as caught:
        helper_without_end_kernel[(1,)](x, HELPER=forever)
    assert caught.value.text == "HELPER()"
    forever_and_deaf.until = time.perf_counter() + 1.0
    with lab.limits(seconds=0.05), pytest.raises(BudgetError) as caught:
        helper_without_end_kernel[(1,)](x, HELPER=forever_and_deaf)
    assert caught.value.text == "HELPER()"
    arena.check()


def test_a_stopped_helper_leaves_no_exception_on_its_way(arena):
    x = arena.take(1)
    with lab.limits(seconds=0.02), pytest.raises(BudgetError):
        helper_without_end_kernel[(1,)](x, HELPER=forever)
    calls = []
    before = sys.gettrace()
    sys.settrace(lambda *event: calls.append(event[1]) if len(calls) < 10 else None)
    try:
        str.join("", map(lambda c: c, "ab"))
    finally:
        sys.settrace(before)
    assert calls[:2] == ["call", "call"]


@triton.jit
def recursive_function(x_ptr):
    return recursive_function(x_ptr) + 1


@triton.jit
def recursive_kernel(x_ptr):
    tl.store(x_ptr, recursive_function(x_ptr))


def test_recursion_without_end(arena, refused):
    x = arena.take(1)
    error = refused(KernelError, lambda: recursive_kernel[(1,)](x))
    assert "calls itself without end" in str(error) and error.function == "recursive_function"
    assert isinstance(error.original, RecursionError)


@triton.jit
def storing_kernel(x_ptr):
    tl.store(x_ptr, 1.0)


def test_a_launcher_without_end_is_not_the_kernels_recursion():
    def launches_for_ever(x):
        storing_kernel[(1,)](x)
        return launches_for_ever(x)

    x = torch.zeros(1)
    with pytest.raises(RecursionError):
        launches_for_ever(x)
    x.zero_()
    storing_kernel[(1,)](x)
    assert x.item() == 1.0


# exceptions and interrupts


def helper_that_raises():
    raise ZeroDivisionError("from a helper")


@triton.jit
def function_that_fails(x, HELPER: tl.constexpr):
    y = x + 1
    HELPER()
    return y


@triton.jit
def fails_inside_kernel(x_ptr, HELPER: tl.constexpr):
    x = tl.load(x_ptr)
    function_that_fails(x, HELPER)


def test_an_exception_names_the_device_function_and_its_line(arena, refused):
    x = arena.take(1)
    error = refused(KernelError, lambda: fails_inside_kernel[(2,)](x, HELPER=helper_that_raises))
    assert (error.kernel, error.function, error.text) == ("fails_inside_kernel", "function_that_fails", "HELPER()")
    assert error.line == function_that_fails.starting_line_number + 3
    assert isinstance(error.original, ZeroDivisionError) and "from a helper" in str(error)
    assert "called by fails_inside_kernel" in error.where()
    assert error.__cause__ is None and error.__suppress_context__


@triton.jit
def name_error_kernel(x_ptr):
    tl.store(x_ptr, not_defined_anywhere)  # noqa: F821


def test_an_exception_in_the_kernel(arena, refused):
    x = arena.take(1)
    error = refused(KernelError, lambda: name_error_kernel[(1,)](x))
    assert "not_defined_anywhere" in str(error) and "pass it as an argument" in error.hint
    assert isinstance(error.original, NameError)


@triton.jit
def endless_once_begun_kernel(x_ptr, BEGIN: tl.constexpr):
    BEGIN()
    while True:
        tl.load(x_ptr)


@pytest.mark.parametrize("after", [0.001, 0.01, 0.05])
def test_an_interrupt_names_the_line_and_restores_everything(arena, after):
    x = arena.take(1)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KernelInterrupted) as caught:
            endless_once_begun_kernel[(1,)](x, BEGIN=lambda: signal.setitimer(signal.ITIMER_REAL, after))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert isinstance(caught.value, KeyboardInterrupt) and isinstance(caught.value.original, KeyboardInterrupt)
    assert caught.value.kernel == "endless_once_begun_kernel" and caught.value.line >= endless_once_begun_kernel.starting_line_number + 2


def test_interrupts_at_any_moment_leave_the_language_as_it_was(arena):
    x, out = torch.ones(64), torch.zeros(64)
    good_kernel[(4,)](x, out, 64, BLOCK=16)  # a first launch imports more of Triton, whose imports stand no interrupt
    interrupted = 0

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.00013 * i)
                for _ in range(3):
                    good_kernel[(4,)](x, out, 64, BLOCK=16)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except (KeyboardInterrupt, KernelError):  # NumPy can make a TypeError of an interrupt in its own code
                interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            language_is_back()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    still_right()
    assert interrupted > 10


@triton.jit
def try_kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    while True:
        try:
            tl.load(x_ptr + offs)
        except:  # noqa: E722
            pass


def test_a_kernel_cannot_catch(arena, refused):
    x = arena.take(5)
    error = refused(UnsupportedError, lambda: try_kernel[(1,)](x, BLOCK=8))
    assert "`try` in a kernel" in str(error) and error.text == "try:"


@triton.jit
def helper_swallows_kernel(x_ptr, BLOCK: tl.constexpr, HELPER: tl.constexpr):
    HELPER(x_ptr + tl.arange(0, BLOCK))
    tl.store(x_ptr, 1.0, mask=BLOCK < 0)


def load_somehow(p):
    try:
        return tl.load(p)
    except Exception:
        return None


def test_a_helper_cannot_hide_that_a_kernel_went_out_of_range(arena, refused):
    x = arena.take(5)
    error = refused(OutOfBoundsError, lambda: helper_swallows_kernel[(1,)](x, BLOCK=8, HELPER=load_somehow))
    assert (error.arg, error.lane, error.kernel) == ("x_ptr", 5, "helper_swallows_kernel") and error.text.startswith("HELPER(")


def leaves_the_process():
    raise SystemExit(3)


def test_a_kernel_cannot_leave_the_process(arena, refused):
    x = arena.take(5)
    error = refused(KernelError, lambda: helper_without_end_kernel[(1,)](x, HELPER=leaves_the_process))
    assert isinstance(error.original, SystemExit) and error.text == "HELPER()"


# grids


@pytest.mark.parametrize(
    "grid, error, says",
    [
        (4, LaunchTypeError, "not a tuple"),
        ((), LaunchError, "0 axes"),
        ((1, 1, 1, 1), LaunchError, "4 axes"),
        ((1.5,), LaunchTypeError, "1.5, a float"),
        ((True,), LaunchTypeError, "True, a bool"),
        (("4",), LaunchTypeError, "a str"),
        ((None,), LaunchTypeError, "a NoneType"),
        ((-1,), LaunchError, "-1"),
        ((1, 65536), LaunchError, "65,535 programs on axis 1"),
        ((1, 1, 65536), LaunchError, "65,535 programs on axis 2"),
        ((2**31,), LaunchError, "on axis 0"),
        (lambda meta: meta["BLOCK"], LaunchTypeError, "not a tuple"),
    ],
)
def test_a_wrong_grid(arena, refused, grid, error, says):
    out = arena.take(8)
    raised = refused(error, lambda: no_mask_store_kernel[grid](out, BLOCK=8))
    assert says in str(raised) and "no_mask_store_kernel" in str(raised) and raised.hint


def test_too_many_programs(arena, refused):
    out = arena.take(8)
    with lab.limits(programs=7):
        error = refused(BudgetError, lambda: no_mask_store_kernel[(2, 2, 2)](out, BLOCK=8))
    assert "8 programs" in str(error) and error.budget == "7 programs" and error.grid == (2, 2, 2)
    assert error.text.startswith("def no_mask_store_kernel") and "program 0" not in str(error)
    arena.freeze()
    with lab.limits(programs=8):
        no_mask_store_kernel[(2, 2, 2)](out[:], BLOCK=4)
    arena.check((out, [1.0] * 8))


def test_no_programs_at_all(arena):
    out = arena.take(8)
    arena.freeze()
    no_mask_store_kernel[(0,)](out, BLOCK=64)
    arena.check()


# launches inside launches, and in threads


def launches_another():
    no_mask_store_kernel[(1,)](torch.zeros(8), BLOCK=8)


def test_a_kernel_that_launches_a_kernel(arena, refused):
    x = arena.take(1)
    error = refused(UnsupportedError, lambda: helper_without_end_kernel[(1,)](x, HELPER=launches_another))
    assert "launched another kernel" in str(error) and error.text == "HELPER()"


def test_threads_that_launch_at_once():
    problems = []

    def work(seed):
        try:
            x, out = torch.full((64,), float(seed)), torch.zeros(64)
            for _ in range(5):
                neighbour_kernel[(4,)](x, out, BLOCK=16)
                assert torch.equal(out, x + 1)
                with pytest.raises(OutOfBoundsError):
                    neighbour_kernel[(5,)](x, out, BLOCK=16)
        except BaseException as e:
            problems.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not problems and not any(t.is_alive() for t in threads)


def test_compiling_in_one_thread_while_another_interprets():
    problems, stop = [], threading.Event()

    def compile_it():
        try:
            still_compiles()
        except BaseException as e:
            problems.append(e)
        finally:
            stop.set()

    # once a process, Triton hashes its own files, chunk by chunk: that is not compiling, and a busy loop makes it take half a minute
    (getattr(triton.runtime.cache, "triton_key", None) or triton.compiler.compiler.triton_key)()
    thread = threading.Thread(target=compile_it)
    x, out = torch.ones(64), torch.zeros(64)
    thread.start()
    launches = 0
    while not stop.is_set() and launches < 20_000:
        neighbour_kernel[(4,)](x, out, BLOCK=16)
        launches += 1
    thread.join(60)
    assert not problems and not thread.is_alive() and launches < 20_000


# kernels that tamper with their surroundings

NUMBER = 7


@triton.jit
def overwrites_globals_kernel(x_ptr, out_ptr):
    global NUMBER, made_by_the_kernel
    NUMBER = 8
    made_by_the_kernel = 9
    tl.store(out_ptr, tl.load(x_ptr))


@triton.jit
def deletes_globals_kernel(x_ptr, out_ptr):
    global NUMBER
    del NUMBER
    tl.store(out_ptr, tl.load(x_ptr))


@triton.jit
def breaks_the_language_kernel(x_ptr, out_ptr):
    tl.load = None
    tl.store(out_ptr, tl.load(x_ptr))


def test_module_globals_survive_a_kernel_that_assigns_them(arena):
    x, out = arena.take(1), arena.take(1)
    before = dict(globals())
    for kernel in (overwrites_globals_kernel, deletes_globals_kernel):
        kernel[(1,)](x, out)
        assert globals() == before


def test_the_language_survives_a_kernel_that_breaks_it(arena, refused):
    x, out = arena.take(1), arena.take(1)
    error = refused(KernelError, lambda: breaks_the_language_kernel[(1,)](x, out))
    assert isinstance(error.original, TypeError)


def test_a_kernel_that_calls_torch_on_a_block_gets_an_error(arena, refused):
    x = arena.take(4)
    error = refused(KernelError, lambda: calls_torch_kernel[(1,)](x, BLOCK=4))
    assert "torch.exp" in error.text and isinstance(error.original, TypeError)


@triton.jit
def calls_torch_kernel(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(x_ptr + tl.arange(0, BLOCK), torch.exp(x))


def test_nothing_of_the_machinery_shows_in_an_error(arena, refused):
    out = arena.take(5)
    error = refused(OutOfBoundsError, lambda: no_mask_store_kernel[(1,)](out, BLOCK=8))
    text = lab.errors.render(error)
    assert "interpreter" not in text and not re.search(r"/tmp|site-packages|runtime/", text)
    assert "-->" in text and "tl.store(out_ptr + offs, 1.0)" in text


def test_a_busy_machine_ends_no_launch_that_has_not_worked_for_its_time():
    from tritonlab.runtime.budget import Clock

    with Clock(0.2) as clock:
        time.sleep(0.25)  # as if others had the processor
        assert not clock.up()
        end = time.thread_time() + 0.25
        while time.thread_time() < end:
            pass
        assert clock.up()
    with Clock(0.01) as clock:
        time.sleep(0.06)  # waiting is given four times as long, and no more
        assert clock.up()


class Nudge(BaseException):
    pass


def test_an_interrupt_at_any_moment_leaves_no_lock_taken():
    from tritonlab.runtime import budget

    with budget.Clock(10.0):
        pass
    inside, stop, came = threading.Event(), [], []

    def launches():
        while not stop:
            try:
                inside.set()  # until it is nudged, and it is not nudged again before it is inside again
                while not stop:
                    with budget.Clock(10.0):
                        pass
            except Nudge:
                came.append(1)

    thread = threading.Thread(target=launches, daemon=True)
    thread.start()
    for number in range(1, 301):
        assert inside.wait(10)
        inside.clear()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Nudge))
        end = time.monotonic() + 10
        while len(came) < number and time.monotonic() < end:
            time.sleep(0)
    stop.append(True)
    thread.join(20)
    assert not thread.is_alive() and len(came) == 300
    assert budget._watch.lock.acquire(timeout=5)
    budget._watch.lock.release()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_watch_that_ended_is_replaced_by_the_next_launch():
    from tritonlab.runtime import budget

    with budget.Clock(10.0):
        pass
    watching = budget._watch.thread
    broken = budget.Clock(0.01)
    broken.over = lambda: 1 / 0
    with broken:
        watching.join(10)
    assert not watching.is_alive()
    with budget.Clock(10.0):
        assert budget._watch.thread is not watching and budget._watch.thread.is_alive()
