r"""Why a class of consumers was admitted or refused, in the prices of an allocation.

At prices p one consumer of class j is worth U_j(r) and takes resources worth P_j r, where
P_j = sum over k of G_jk p_bk. By duality an exact optimum of the relaxed problem admits every
class with U_j(r) > P_j r in full, none with U_j(r) < P_j r, and is free to admit any number
where the two are equal. Whole consumers, and a method that stops early, deviate from that; what
a deviation gives up at these prices, n_max max(0, v - q) - n (v - q), is never negative and is
this class's own term of the duality gap, so it is told rather than explained away.

| paper (Lumezanu 2006) | here |
|---|---|
| U_j(r_i), G_{b,j}, p_b | `value`, `Need.cost`, `Need.price` |
| n_j, n_j^max | `admitted`, `wanted` |
| benefit-cost ratio BC_j | `value` / `price` |

All levers hold everything else still: prices would move with them, so they are where the
verdict turns, not a forecast. Cost: constant per class, but for one bisection on the rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from weir.model import ConsumerClass, Flow
    from weir.utility import Utility

MARGIN = 5e-3
"""Value and price that differ by no more, relative to the larger, count as equal: a ratio that
two decimals show as 1.00. Whole consumers keep prices from settling much closer."""

BISECTIONS = 80
"""Halvings of the interval of rates: more than a double has bits."""


class Verdict(StrEnum):
    """What the prices say about the number admitted."""

    NOBODY = "nobody"
    """Nobody of this class wants to join."""
    WORTHLESS = "worthless"
    """One consumer adds nothing at this rate."""
    FREE = "free"
    """Nothing that it takes is scarce, and all are in."""
    PAYS = "pays"
    """One brings more than it costs, and all are in."""
    MARGIN = "margin"
    """One brings what it costs: any number is as good, and the room decides."""
    COSTS_MORE = "costs_more"
    """One costs more than it brings, and none is in."""
    AGAINST = "against_prices"
    """The number admitted is not the one that these prices ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one consumer takes of one resource of its node."""

    resource: str
    cost: float
    """Units of work per message."""
    units_per_s: float
    price: float
    """Utility per unit."""
    worth: float
    """`units_per_s` x `price`: its part of the price of one."""
    room: float
    """Units per second that the node has left."""
    price_at_margin: float | None
    """Price of this resource at which one would bring just what it costs; None: at no price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Value against price of one consumer, and where the verdict would turn."""

    consumer_class: str
    flow: str
    node: str
    rate_per_s: float
    admitted: int
    wanted: int
    value: float
    """Utility of one consumer at the rate."""
    price: float
    """What the resources that one takes are worth elsewhere."""
    price_per_message: float
    needs: tuple[Need, ...]
    verdict: Verdict
    binding: str | None
    """The resource that makes up most of the price; None where nothing has one."""
    fits: bool
    """One more consumer would fit into the room that the node has left."""
    given_up: float
    """Utility that the number admitted gives up against what these prices ask for."""
    scale: float
    scale_name: str | None
    """The parameter that multiplies the whole utility, if the kind has one."""
    scale_at_margin: float | None
    """`scale` at which one would bring just what it costs; None: at no scale."""
    rate_at_margin_per_s: float | None
    """Nearest rate within the flow's bounds at which the verdict turns; None: at none."""


def explain(
    consumers: ConsumerClass,
    flow: Flow,
    *,
    rate_per_s: float,
    admitted: int,
    prices: Mapping[str, float],
    room: Mapping[str, float],
) -> Explanation:
    """The explanation of one class; `prices` and `room` are those of its node, by resource."""
    utility = consumers.utility
    value = float(utility.value(rate_per_s))
    per_message = sum(cost * prices.get(name, 0.0) for name, cost in consumers.costs.items())
    price = per_message * rate_per_s
    needs = tuple(
        _need(name, cost, rate_per_s, prices.get(name, 0.0), room.get(name, 0.0), value - price)
        for name, cost in sorted(consumers.costs.items())
        if cost > 0
    )
    dearest = max(needs, key=lambda need: need.worth, default=None)
    excess = value - price
    given_up = consumers.population_max * max(0.0, excess) - admitted * excess
    return Explanation(
        consumer_class=consumers.id,
        flow=flow.id,
        node=consumers.node,
        rate_per_s=rate_per_s,
        admitted=admitted,
        wanted=consumers.population_max,
        value=value,
        price=price,
        price_per_message=per_message,
        needs=needs,
        verdict=verdict(value, price, admitted, consumers.population_max),
        binding=dearest.resource if dearest is not None and dearest.worth > 0 else None,
        fits=all(need.units_per_s <= need.room for need in needs),
        given_up=max(0.0, given_up),
        scale=utility.scale,
        scale_name=scale_name(utility),
        scale_at_margin=_positive(utility.scale * price / value if value > 0 else math.inf),
        rate_at_margin_per_s=rate_at_margin(utility, flow, rate_per_s, per_message),
    )


def verdict(value: float, price: float, admitted: int, wanted: int) -> Verdict:
    """What `value` against `price` of one says about `admitted` of `wanted`."""
    if wanted == 0:
        return Verdict.NOBODY
    if value <= 0 and admitted == 0:
        return Verdict.WORTHLESS
    if price <= 0 and admitted == wanted:
        return Verdict.FREE
    if abs(value - price) <= MARGIN * max(abs(value), abs(price)):
        return Verdict.MARGIN
    if value < price:
        return Verdict.COSTS_MORE if admitted == 0 else Verdict.AGAINST
    if admitted < wanted:
        return Verdict.AGAINST
    return Verdict.PAYS


def _need(name: str, cost: float, rate: float, price: float, room: float, excess: float) -> Need:
    units = cost * rate
    turning = price + excess / units if units > 0 else math.inf
    return Need(
        resource=name,
        cost=cost,
        units_per_s=units,
        price=price,
        worth=units * price,
        room=room,
        price_at_margin=turning if turning == 0 else _positive(turning),
    )


def _positive(value: float) -> float | None:
    """None for what is no number above 0, as where a divisor is next to nothing."""
    return value if 0 < value < math.inf else None


def scale_name(utility: Utility) -> str | None:
    """The parameter that stands before the whole function: `weight`, `max_utility`."""
    for field in fields(cast("Any", utility)):
        if getattr(utility, field.name) == utility.scale and _scaled(utility, field.name):
            return str(field.name)
    return None


def _scaled(utility: Utility, name: str) -> bool:
    """Whether another value of this parameter is that scale of the same shape."""
    scale = 2.0 * utility.scale + 1.0
    try:
        other = replace(cast("Any", utility), **{name: scale})
    except InvalidProblem:
        return False
    return bool(other.scale == scale and other.shape == utility.shape)


def rate_at_margin(
    utility: Utility, flow: Flow, rate: float, price_per_message: float
) -> float | None:
    """The rate nearest to `rate`, within the bounds, at which value and price change places.

    U(r) - P r is concave, so the rates that pay are one interval: around the best rate if that
    one pays, else empty.
    """

    def excess(at: float) -> float:
        return float(utility.value(at)) - price_per_message * at

    now = excess(rate)
    if now < 0:
        best = _best_rate(utility, flow, price_per_message)
        return _turn(excess, best, rate) if excess(best) > 0 else None
    ends = [end for end in (flow.rate_min, flow.rate_max) if excess(end) < 0]
    turns = [_turn(excess, rate, end) for end in ends] if now > 0 else []
    return min(turns, key=lambda turn: abs(turn - rate), default=None)


def _best_rate(utility: Utility, flow: Flow, price_per_message: float) -> float:
    best = type(utility).batch([utility]).rate_at(np.array([price_per_message]))[0]
    return float(min(max(best, flow.rate_min), flow.rate_max))


def _turn(excess: Callable[[float], float], pays: float, costs: float) -> float:
    """Between a rate that pays and one that does not: the last that pays."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (pays + costs)
        if excess(middle) >= 0:
            pays = middle
        else:
            costs = middle
    return pays
