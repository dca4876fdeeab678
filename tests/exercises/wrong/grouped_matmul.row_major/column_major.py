"""Down the columns."""
# rejected with: known_wrong
# which says: column-major
import torch
import triton
import triton.language as tl


@triton.jit
def row_major_pid(pid, num_pid_m, num_pid_n):
    return pid % num_pid_m, pid // num_pid_m


@triton.jit
def row_major_kernel(order_ptr, num_pid_m, num_pid_n):
    pid = tl.program_id(0)
    pid_m, pid_n = row_major_pid(pid, num_pid_m, num_pid_n)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def row_major_order(num_pid_m, num_pid_n):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    row_major_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n)
    return order
