"""Within a group the programs go down."""
# rejected with: known_wrong
# which says: goes down each column
import torch
import triton
import triton.language as tl


@triton.jit
def column_grouped_pid(pid, num_pid_m, num_pid_n, GROUP_N):
    programs_in_group = GROUP_N * num_pid_m
    first_pid_n = (pid // programs_in_group) * GROUP_N
    columns = tl.minimum(num_pid_n - first_pid_n, GROUP_N)
    in_group = pid % programs_in_group
    pid_m = in_group % num_pid_m
    pid_n = first_pid_n + in_group // num_pid_m
    return pid_m, pid_n


@triton.jit
def column_grouped_kernel(order_ptr, num_pid_m, num_pid_n, GROUP_N: tl.constexpr):
    pid = tl.program_id(0)
    pid_m, pid_n = column_grouped_pid(pid, num_pid_m, num_pid_n, GROUP_N)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def column_grouped_order(num_pid_m, num_pid_n, GROUP_N):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    column_grouped_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n, GROUP_N=GROUP_N)
    return order
