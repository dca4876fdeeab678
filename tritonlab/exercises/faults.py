"""Judge a call that did not come back: out of bounds, an error, no end, and a call that should have been refused."""

from __future__ import annotations

import ast
import re
from typing import Any

import torch

from ..analysis.lanes import line_text
from ..errors import BudgetError, KernelError, OutOfBoundsError, TritonlabError, learner_frames
from ..trace.record import Launch, short
from .finding import Finding, call_on_line, lane_text, parsed
from .inputs import build
from .problem import Case
from .run import PROGRAMS, SECONDS, Endless, Outcome

__all__ = ["has_mask", "judge_error", "judge_refusal", "made_mask"]

_MASK_AT = {"load": 1, "store": 2}


def judge_error(outcome: Outcome) -> list[Finding]:
    """The finding for a case that ended by an exception."""
    error = outcome.error
    launch = max(len(outcome.trace.launches) - 1, 0)
    if isinstance(error, Endless):
        what = f"the launcher itself ran for more than {SECONDS + 0.5:g} seconds."
        return [Finding("budget", outcome, dict(what=what))]
    if isinstance(error, BudgetError):
        what = f"{error.message}. ".replace("..", ".") + f"A check gives a launch {SECONDS:g} seconds and {PROGRAMS} programs."
        return [Finding("budget", outcome, dict(what=what), _loop(outcome, error, launch), launch)]
    if isinstance(error, OutOfBoundsError):
        return [_out_of_bounds(outcome, error, launch)]
    narrow = _accumulator(outcome, error, launch)
    if narrow:
        return [Finding("precision", outcome, dict(detail=narrow), _fields(error), launch)]
    return [Finding("raises", outcome, _raised(error), _fields(error), launch)]


def _accumulator(outcome: Outcome, error: Any, number: int) -> str:
    """What to say of an accumulator that tl.dot refuses because of its dtype; "" for any other error."""
    if not isinstance(error, KernelError) or "acc.type.element_ty" not in error.message or number >= len(outcome.trace.launches):
        return ""
    tree = parsed(outcome.trace.launches[number], error.function)
    call = call_on_line(tree, error.line, "dot")
    given = next((k.value for k in call.keywords if k.arg == "acc"), call.args[2] if len(call.args) > 2 else None) if call else None
    made = _assigned(given.id, tree) or [] if isinstance(given, ast.Name) else []
    dtypes = [k.value for m in made if isinstance(m, ast.Call) for k in m.keywords if k.arg == "dtype"]
    what = f"{given.id} is {ast.unparse(dtypes[0])}" if dtypes and isinstance(given, ast.Name) else "its accumulator has another dtype"
    return (
        f"in program {short(error.program)}, line {error.line}, tl.dot gives float32, but {what}. Accumulate in float32, "
        "tl.zeros(..., dtype=tl.float32), and convert once at the end: the store does."
    )


def _fields(error: Any) -> dict[str, Any]:
    if not isinstance(error, KernelError) or not error.kernel:
        return {}
    return dict(kernel=error.kernel, program=error.program, line=error.line, source=error.text)


def _loop(outcome: Outcome, error: BudgetError, number: int) -> dict[str, Any]:
    """Where the time went: the innermost loop around the line that was running, which does not depend on the clock."""
    fields = dict(kernel=error.kernel, program=error.program)
    launch = outcome.trace.launches[number] if number < len(outcome.trace.launches) else None
    tree = parsed(launch, error.function) if launch else None
    loops = [
        n for n in ast.walk(tree) if isinstance(n, (ast.For, ast.While)) and n.lineno <= error.line <= (n.end_lineno or n.lineno)
    ] if tree else []
    if loops and launch is not None:
        line = max(n.lineno for n in loops)
        fields.update(line=line, source=line_text(launch, error.function, line))
    return fields


def _raised(error: Any) -> dict[str, Any]:
    if isinstance(error, KernelError) and error.kernel:
        name = type(error.original).__name__ if error.original is not None else type(error).__name__
        where = f" in program {short(error.program)}, line {error.line}"
        message = _sentence(error.message) + (f" Way out: {error.hint}" if error.hint else "")
        return dict(who=error.function or error.kernel, error=name, where=where, message=message)
    who, where = "The launcher", ""
    frames = [f for f in learner_frames(error.__traceback__) if f[2]]
    if frames:
        _, line, function, text = frames[-1]
        who, where = function, f" in line {line}, `{text}`"
    message = error.message if isinstance(error, TritonlabError) else str(error)
    hint = getattr(error, "hint", "") if isinstance(error, TritonlabError) else ""
    return dict(
        who=who, error=type(error).__name__, where=where, message=_sentence(message or "no message") + (f" Way out: {hint}" if hint else "")
    )


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."


def _out_of_bounds(outcome: Outcome, error: OutOfBoundsError, number: int) -> Finding:
    launch = outcome.trace.launches[number] if outcome.trace.launches else None
    shape = error.offsets.shape if error.offsets is not None else ()
    lane = lane_text(error.lane, shape)
    does = {"load": "reads", "store": "writes"}.get(error.kind, f"does {error.kind} on")
    if error.arg is None:
        words = dict(
            kind=error.kind.capitalize(), program=short(error.program), lane=lane, does=does, arg="memory", offset=error.offset,
            outside="which belongs to no tensor of this launch", cause="A pointer is an argument plus offsets, x_ptr + offs.",
        )
    else:
        words = dict(
            kind=error.kind.capitalize(), program=short(error.program), lane=lane, does=does, arg=error.arg, offset=error.offset,
            outside=_outside(error), cause=_cause(error, launch),
        )
    fields = dict(_fields(error), lane=error.lane, arg=error.arg, offset=error.offset)
    return Finding("out_of_bounds", outcome, words, fields, number)


def _outside(error: OutOfBoundsError) -> str:
    if error.high < error.low:
        return f"but {error.arg} is empty"
    if error.low <= error.offset <= error.high:
        return f"which lies between the elements of {error.arg}: memory of somebody else"
    return f"but {error.arg} ends at offset {error.high}" if error.offset > error.high else f"but {error.arg} begins at offset {error.low}"


def _cause(error: OutOfBoundsError, launch: Launch | None) -> str:
    are = "is" if error.lanes_bad == 1 else "are"
    many = f"{error.lanes_bad} of its {error.lanes} lanes {are} out of range." if error.lanes > 1 else ""
    call = f"tl.{error.kind}"
    tree = parsed(launch, error.function) if launch else None
    node = call_on_line(tree, error.line, error.kind, error.arg)
    if error.low <= error.offset <= error.high:
        return f"{many} Offsets must be index × stride."
    if error.offset < -(2**30):
        return f"{many} An offset this far below 0 is a product that int32 cannot hold (2³¹ − 1 at most): widen one factor first, pid.to(tl.int64) * stride."
    if error.offset < error.low:
        return f"{many} An offset is negative: check what is subtracted."
    if node is not None and not has_mask(node, error.kind):
        made = made_mask(tree)
        if made:
            return f"{many} {made[0]} is made in line {made[1]}, but this {call} does not get it: mask={made[0]} is missing."
        return f"{many} This {call} has no mask: lanes past the end must be off."
    condition = _condition(node, error.kind, tree) if launch and error.function in ("", launch.kernel) else None
    if condition is not None and error.lanes > 1:
        if _one_value(condition, tree):
            return f"{many} The mask of this {call} is one value for the whole block: compare the offsets, each lane its own, offs < n."
        if error.lanes_bad == 1 and _lets_the_length_in(condition, tree):
            return f"{many} The comparison of its mask lets the offset in that equals the length: offsets count from 0, so use `<`, not `<=`."
    if error.mask is not None and error.mask.all() and error.lanes > 1:
        return f"{many} The mask of this {call} is true in every lane: compare the offsets themselves with the length."
    return f"{many} The mask of this {call} leaves them on: it must be true only for elements that exist."


def has_mask(node: ast.Call, kind: str) -> bool:
    """Whether a ``tl.load``, ``tl.store`` or atomic call is given a mask."""
    return any(k.arg in ("mask", None) for k in node.keywords) or len(node.args) > _MASK_AT.get(kind, 2)


def _condition(node: ast.Call | None, kind: str, tree: ast.AST | None) -> ast.expr | None:
    """What an access's mask was computed by; None when it has none or that is not plain."""
    if node is None:
        return None
    at = _MASK_AT.get(kind, 2)
    given = next((k.value for k in node.keywords if k.arg == "mask"), node.args[at] if len(node.args) > at else None)
    if isinstance(given, ast.Name):
        made = _assigned(given.id, tree) or []
        return made[0] if len(made) == 1 else None
    return given


def _assigned(name: str, tree: ast.AST | None) -> list[ast.expr] | None:
    """All that a name is assigned or counts through, none for an argument; None when it gets its value in another way."""
    found, plain = [], 0
    nodes = list(ast.walk(tree)) if tree is not None else []
    for n in nodes:
        targets = n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(n, (ast.AugAssign, ast.AnnAssign)) else []
        if any(isinstance(t, ast.Name) and t.id == name for t in targets) and n.value is not None:
            found.append(n.value)
            plain += 1
        if isinstance(n, ast.For) and isinstance(n.target, ast.Name) and n.target.id == name:
            plain += 1
    stores = sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in nodes)
    return found if stores == plain else None


def _one_value(expression: ast.expr, tree: ast.AST | None, depth: int = 8) -> bool:
    """Whether an expression is a single value for certain: made of arguments, constants and program ids."""
    for n in ast.walk(expression):
        if isinstance(n, ast.Call) and not (isinstance(n.func, ast.Attribute) and n.func.attr in ("program_id", "num_programs", "cdiv")):
            return False
        if isinstance(n, ast.Name) and n.id != "tl":
            made = _assigned(n.id, tree)
            if depth == 0 or made is None or not all(_one_value(v, tree, depth - 1) for v in made):
                return False
    return True


def _lets_the_length_in(condition: ast.expr, tree: ast.AST | None) -> bool:
    """Whether somewhere in a mask stands `offs <= n` or `n >= offs`."""
    for n in ast.walk(condition):
        if isinstance(n, ast.Compare) and len(n.ops) == 1:
            left, right = _one_value(n.left, tree), _one_value(n.comparators[0], tree)
            if (isinstance(n.ops[0], ast.LtE) and right and not left) or (isinstance(n.ops[0], ast.GtE) and left and not right):
                return True
    return False


def made_mask(tree: ast.AST | None) -> tuple[str, int] | None:
    """The first name with "mask" in it that the kernel assigns, and the line."""
    if tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and "mask" in target.id.lower():
                    return target.id, node.lineno
    return None


def _shows(message: str, case: Case) -> bool:
    """Whether a message has something in it that was given: a size, a stride, a dtype; of a tensor that is not contiguous, that it is not."""
    if case.strided and "contiguous" in message.lower():
        return True
    given = {str(t.dtype) for t in case.tensors}
    for built in build(case, 0).args:
        if isinstance(built, torch.Tensor):
            given |= {str(n) for n in (*built.shape, *built.stride(), built.numel())}
    return any(re.search(rf"(?<![\w]){re.escape(value)}(?!\w)", message) for value in given)


def judge_refusal(outcome: Outcome) -> list[Finding]:
    """The finding for a call that the launcher had to refuse: none when it did, with an error of its own and a message."""
    case, error = outcome.case, outcome.error
    wanted = case.raises[0].__name__
    words = dict(because=case.because.rstrip("."), wanted=wanted)
    if error is None:
        return [Finding("no_refusal", outcome, dict(words, instead="nothing was raised, and a result came back."))]
    if isinstance(error, NotImplementedError):
        return []
    if isinstance(error, case.raises) and not isinstance(error, TritonlabError):
        message = str(error).strip()
        if message and _shows(message, case):
            return []
        if message:
            instead = f"the {type(error).__name__} says {message!r}, but not what it got: put the values into it, raise {wanted}(f\"... got {{...}}\")."
            return [Finding("no_refusal", outcome, dict(words, instead=instead))]
        return [Finding("no_refusal", outcome, dict(words, instead=f"the {type(error).__name__} has no message: say what is wrong."))]
    if isinstance(error, (BudgetError, Endless)):
        return judge_error(outcome)
    if isinstance(error, AssertionError):
        instead = "an assert is not enough: python -O leaves it out."
    elif isinstance(error, KernelError):
        instead = f"the kernel ran and failed in line {error.line}."
    else:
        instead = f"{type(error).__name__} was raised."
    return [Finding("no_refusal", outcome, dict(words, instead=instead), _fields(error))]
