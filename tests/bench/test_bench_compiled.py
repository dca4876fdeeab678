"""torch.compile without the memory of other shapes."""

import torch
from torch._dynamo.testing import CompileCounter

from tritonlab.bench.compiled import COMPILE, fresh_compile


def test_every_case_is_compiled_once_and_for_its_own_shape():
    counter = CompileCounter()
    sizes = range(4, 24)  # more than dynamo's limit of recompilations of one function
    functions = [(n, fresh_compile(torch.add, backend=counter, dynamic=False)) for n in sizes]
    for _ in range(2):
        for n, fn in functions:
            assert fn(torch.ones(n), torch.ones(n)).tolist() == [2.0] * n
    assert counter.frame_count == counter.op_count == len(sizes)


def test_a_shared_function_would_have_stopped_compiling():
    counter = CompileCounter()
    shared = torch.compile(lambda x, y: x + y, backend=counter, dynamic=False)
    for n in range(4, 24):
        shared(torch.ones(n), torch.ones(n))
    assert counter.frame_count < 20


def test_the_rival_is_compiled_as_well_as_it_can_be():
    assert COMPILE == {"dynamic": False, "mode": "max-autotune-no-cudagraphs"}
