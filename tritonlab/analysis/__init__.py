"""What a launch did, counted: pure functions from a ``Launch`` to a frozen result.

Every function takes a ``Launch``, or a ``Trace`` that holds exactly one. Every result has a
one-line ``repr``, prints as a small table, and carries ``note``: empty, or why the result is
partial (accesses that the trace left out, a launch that ended by an error).
"""

from .coverage import Coverage, Conflict, Write, output_coverage
from .lanes import program_number
from .l2 import GPUS, Gpu, L2Traffic, l2_traffic
from .masks import LaneCount, MaskedLanes, masked_lanes
from .order import Order, program_order
from .product import tile_reuse
from .product_result import KStep, Operand, OutputTile, TileReuse
from .product_roles import Product, Role, find_product
from .pids import PidOrder, tile_order
from .races import Race, Races, find_races
from .reuse import ArgReuse, Reuse, element_reuse, lru_fetches
from .tiles import Owners, owners
from .traffic import ArgTraffic, Traffic, bytes_moved

__all__ = [
    "ArgReuse",
    "ArgTraffic",
    "Conflict",
    "Coverage",
    "GPUS",
    "Gpu",
    "L2Traffic",
    "KStep",
    "LaneCount",
    "MaskedLanes",
    "Operand",
    "Order",
    "OutputTile",
    "Owners",
    "PidOrder",
    "Product",
    "Race",
    "Races",
    "Reuse",
    "Role",
    "TileReuse",
    "Traffic",
    "Write",
    "bytes_moved",
    "element_reuse",
    "find_product",
    "find_races",
    "l2_traffic",
    "lru_fetches",
    "masked_lanes",
    "output_coverage",
    "owners",
    "program_number",
    "program_order",
    "tile_reuse",
    "tile_order",
]
