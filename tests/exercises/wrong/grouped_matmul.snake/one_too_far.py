"""num_pid_n - along begins past the last column."""
# rejected with: tile_map
# which says: stores to the place of tile
import torch
import triton
import triton.language as tl


@triton.jit
def snake_pid(pid, num_pid_m, num_pid_n):
    pid_m = pid // num_pid_n
    along = pid % num_pid_n
    pid_n = tl.where(pid_m % 2 == 0, along, num_pid_n - along)
    return pid_m, pid_n


@triton.jit
def snake_kernel(order_ptr, num_pid_m, num_pid_n):
    pid = tl.program_id(0)
    pid_m, pid_n = snake_pid(pid, num_pid_m, num_pid_n)
    tl.store(order_ptr + pid_m * num_pid_n + pid_n, pid)


def snake_order(num_pid_m, num_pid_n):
    order = torch.empty((num_pid_m, num_pid_n), dtype=torch.int32)
    snake_kernel[(num_pid_m * num_pid_n,)](order, num_pid_m, num_pid_n)
    return order
