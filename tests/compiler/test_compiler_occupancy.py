import pytest

from tritonlab.compiler import LIMITS, TARGETS, occupancy

KIB = 1024


@pytest.mark.parametrize(
    "target, registers, shared, num_warps, programs, limiter",
    [
        ("sm_90", 32, 0, 4, 16, "registers and warps"),
        ("sm_90", 33, 0, 4, 12, "registers"),  # 40 registers a thread: 1,280 a warp, 12 warps a quarter
        ("sm_90", 24, 0, 1, 32, "programs"),
        ("sm_90", 115, 96 * KIB, 8, 2, "registers and shared memory"),
        ("sm_90", 118, 128 * KIB, 8, 1, "shared memory"),
        ("sm_90", 135, 32 * KIB, 2, 6, "registers and shared memory"),
        ("sm_90", 32, 75 * KIB, 4, 3, "shared memory"),
        ("sm_90", 32, 75 * KIB + 1, 4, 2, "shared memory"),  # 76 KiB with the system's, and one byte: 3 do not fit into 228
        ("sm_90", 32, 227 * KIB, 4, 1, "shared memory"),
        ("sm_90", 32, 227 * KIB + 1, 4, 0, "shared memory"),
        ("sm_80", 255, 64 * KIB, 8, 1, "registers"),
        ("sm_80", 32, 163 * KIB, 4, 1, "shared memory"),
        ("sm_80", 32, 163 * KIB + 1, 4, 0, "shared memory"),
        ("sm_86", 32, 0, 4, 12, "warps"),
        ("sm_86", 16, 0, 1, 16, "programs"),
        ("sm_89", 16, 0, 1, 24, "programs"),
        ("sm_89", 40, 49 * KIB, 4, 2, "shared memory"),
        ("sm_75", 64, 0, 8, 4, "registers and warps"),
        ("sm_75", 32, 32 * KIB, 4, 2, "shared memory"),  # no reserved KiB before sm_80
        ("sm_120", 16, 0, 1, 24, "programs"),
        ("sm_100", 64, 0, 4, 8, "registers"),
    ],
)
def test_programs_of_an_sm(target, registers, shared, num_warps, programs, limiter):
    found = occupancy(target, registers, shared, num_warps)
    assert (found.programs, found.limiter) == (programs, limiter)
    assert found.warps == programs * num_warps
    assert found.share == found.warps / LIMITS[target].warps


def test_more_registers_never_help():
    last = 99
    for registers in range(16, 256):
        found = occupancy("sm_90", registers, 0, 4).programs
        assert found <= last
        last = found


def test_tensor_memory_limits_too():
    assert occupancy("sm_100", 32, 0, 4, tensor_memory=256).programs == 2
    assert occupancy("sm_100", 32, 0, 4, tensor_memory=256).limiter == "tensor memory"


def test_a_program_of_more_than_1024_threads_does_not_fit():
    found = occupancy("sm_90", 32, 0, 64)
    assert found.programs == 0 and found.limiter == "warps"
    assert repr(found) == "<Occupancy sm_90: no program fits, for warps>"


def test_repr_says_programs_warps_and_limiter():
    assert (
        repr(occupancy("sm_90", 118, 128 * KIB, 8))
        == "<Occupancy sm_90: 1 program, 8 of 64 warps (12%), limited by shared memory>"
    )


def test_limits_are_consistent():
    assert TARGETS == ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
    for has in LIMITS.values():
        assert has.shared_program + has.shared_reserved <= has.shared
        assert has.registers == 65_536 and has.warps * 32 in (1024, 1536, 2048)


@pytest.mark.parametrize("wrong", [("sm_91", 32, 0, 4), ("sm_90", -1, 0, 4), ("sm_90", 32, -1, 4), ("sm_90", 32, 0, 0)])
def test_what_no_kernel_can_have_is_refused(wrong):
    with pytest.raises(ValueError, match="sm_|at least 1 warp"):
        occupancy(*wrong)
