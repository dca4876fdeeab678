"""Only the division knows of the shorter group."""
# rejected with: tile_map
# which says: the rest is still taken by GROUP_M
import torch
import triton
import triton.language as tl


@triton.jit
def grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M):
    programs_in_group = GROUP_M * num_pid_n
    first_pid_m = (pid // programs_in_group) * GROUP_M
    rows = tl.minimum(num_pid_m - first_pid_m, GROUP_M)
    in_group = pid % programs_in_group
    pid_m = first_pid_m + in_group % GROUP_M
    pid_n = in_group // rows
    return pid_m, pid_n


@triton.jit
def grouped_order_kernel(order_ptr, num_pid_m, num_pid_n, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    pid_m, pid_n = grouped_pid(pid, num_pid_m, num_pid_n, GROUP_M)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def grouped_order(num_pid_m, num_pid_n, GROUP_M):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    grouped_order_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n, GROUP_M=GROUP_M)
    return order
