"""Which small bugs are put in: Cosmic Ray's operators that people make, and one of our own.

Left out are those that break every module on import or that no person would write (a shift for a
sum, `is` for an equality): they are killed by anything and would only raise the rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import parso.python.tree as tree
from cosmic_ray.operators import (
    boolean_replacer,
    break_continue,
    exception_replacer,
    number_replacer,
    unary_operator_replacement,
    zero_iteration_for_loop,
)
from cosmic_ray.operators.binary_operator_replacement import (
    ReplaceBinaryOperator_Add_Sub,
    ReplaceBinaryOperator_Div_Mul,
    ReplaceBinaryOperator_Mul_Div,
    ReplaceBinaryOperator_Sub_Add,
)
from cosmic_ray.operators.comparison_operator_replacement import (
    ReplaceComparisonOperator_Eq_NotEq,
    ReplaceComparisonOperator_Gt_GtE,
    ReplaceComparisonOperator_Gt_Lt,
    ReplaceComparisonOperator_GtE_Gt,
    ReplaceComparisonOperator_GtE_Lt,
    ReplaceComparisonOperator_Is_IsNot,
    ReplaceComparisonOperator_IsNot_Is,
    ReplaceComparisonOperator_Lt_Gt,
    ReplaceComparisonOperator_Lt_LtE,
    ReplaceComparisonOperator_LtE_Gt,
    ReplaceComparisonOperator_LtE_Lt,
    ReplaceComparisonOperator_NotEq_Eq,
)
from cosmic_ray.operators.operator import Example, Operator

QUIET = ("log", "logger", "warnings")
"""Objects whose calls tell people something and change nothing."""


class RemoveCall(Operator):  # type: ignore[misc]
    """Leaves out a statement that is a call: no fsync, no check, no settling."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """The statement, where it is nothing but a call (awaited or not)."""
        if _is_call_statement(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """`pass` in its place."""
        return tree.Keyword("pass", node.start_pos, prefix=node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """For Cosmic Ray's own tests."""
        return (Example("def f():\n    g()\n", "def f():\n    pass\n"),)


def _is_call_statement(node: Any) -> bool:
    if node.type not in ("atom_expr", "power") or node.parent.type != "simple_stmt":
        return False
    last = node.children[-1]
    if last.type != "trailer" or last.children[0].value != "(":
        return False
    return node.get_first_leaf().value not in QUIET


OPERATORS: Mapping[str, type[Operator]] = {
    operator.__name__: operator
    for operator in (
        RemoveCall,
        boolean_replacer.AddNot,
        boolean_replacer.ReplaceAndWithOr,
        boolean_replacer.ReplaceFalseWithTrue,
        boolean_replacer.ReplaceOrWithAnd,
        boolean_replacer.ReplaceTrueWithFalse,
        break_continue.ReplaceBreakWithContinue,
        break_continue.ReplaceContinueWithBreak,
        exception_replacer.ExceptionReplacer,
        number_replacer.NumberReplacer,
        unary_operator_replacement.ReplaceUnaryOperator_Delete_Not,
        zero_iteration_for_loop.ZeroIterationForLoop,
        ReplaceBinaryOperator_Add_Sub,
        ReplaceBinaryOperator_Div_Mul,
        ReplaceBinaryOperator_Mul_Div,
        ReplaceBinaryOperator_Sub_Add,
        ReplaceComparisonOperator_Eq_NotEq,
        ReplaceComparisonOperator_Gt_GtE,
        ReplaceComparisonOperator_Gt_Lt,
        ReplaceComparisonOperator_GtE_Gt,
        ReplaceComparisonOperator_GtE_Lt,
        ReplaceComparisonOperator_Is_IsNot,
        ReplaceComparisonOperator_IsNot_Is,
        ReplaceComparisonOperator_Lt_Gt,
        ReplaceComparisonOperator_Lt_LtE,
        ReplaceComparisonOperator_LtE_Gt,
        ReplaceComparisonOperator_LtE_Lt,
        ReplaceComparisonOperator_NotEq_Eq,
    )
}
