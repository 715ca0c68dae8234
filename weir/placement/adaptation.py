r"""Parts of a token bucket that follow the traffic at run time (SRTM, section 5.4).

The paper: rates in proportion to mean rates over ten seconds, sizes in proportion to the maximal
backlog. A mean over ten seconds follows a sharp shift ten seconds late, and what waited by then is
never made up for. Here, at each decision:

1. Demand d_l of broker l is the mean of what arrived since the last sharp change of its traffic.
   See `weir.placement._traffic`, also for the dispersion phi.
2. Rates r_l = d_l + w_l / DRAIN_S + a share of what is left, in proportion to d_l. w_l: backlog
   that is more than chance, and that the part would not drain soon itself. With fewer tokens than
   that the backlogs share TO_BACKLOGS of what demand leaves, in proportion. Where demand exceeds
   all tokens, everybody has the same share of it.
3. Sizes in proportion to unfinished work (`work_peak`), mixed with the share of rate, which counts
   as much as PRIOR independent maxima: a queue forgets in phi / (d (1 - rho)^2), so that the window
   holds window d (1 - rho)^2 / phi of them, and of few the largest is mostly noise. Unfinished work
   beyond chance is lack of rate and no burst; it is cut there.
4. No part below `least_share`. Of the rate the floors take at most FLOORS of what demand leaves
   (but at least LEAST_FLOOR of themselves): eight brokers of which one has all the traffic would
   else lose 14 % of the contract to brokers that do not use it. At least one whole token in each
   part where there are as many.
5. Parts move only where that matters. Rates: a broker's utilisation would fall by more than
   MATTERS of the slack, 1 - rho, of its new part, and the parts do not fit what was measured
   by more than chance (F test over all brokers; the variance of d_l is phi_l d_l / window). After
   a change the parts were made from little, and are made better by what comes; once a backlog is
   gone the parts that drained it are known not to fit. Backlog: as in 2. Where rates move and
   bursts have not, sizes go with them: so what goes to and fro leaves nothing behind.
   Sizes: a part was exceeded, and would be larger by LARGER from either half of the window alone.

Chance: in a part that fits, unfinished work exceeds x with about exp(-2 (1 - rho) x / phi) (heavy
traffic; Kingman), so that ln(1 / RARELY) phi / (2 (1 - rho)) is exceeded in few
intervals.

| paper | here |
|---|---|
| average message rate over a 10 s window in 1 s increments | `Interval.arrived` |
| maximum backlog | `Interval.work_peak` |
| r_l, b_l | `Part.rate_per_s`, `Part.size` |

What came between a shift and the new parts waits, and only r minus the traffic drains it, whatever
the rule: see docs/algorithms/adaptation.md for the bound.

Rates are messages per second. Pure: no clock, no chance; the order of brokers changes nothing.
Cost: some 30 to 80 microseconds a broker. Fails for nothing that `Interval` can hold.

References:
    C. Li et al. Impact of Distributed Rate Limiting on Load Distribution in a Latency-sensitive
    Messaging Service (SRTM), section 5.4.
    J. F. C. Kingman. On queues in heavy traffic. J. R. Stat. Soc. B 24, 1962.
    doi:10.1111/j.2517-6161.1962.tb00465.x
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from statistics import median
from typing import TYPE_CHECKING

from scipy.special import fdtri

from weir.placement._traffic import measured_traffic
from weir.placement.handover import Part
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weir.placement._traffic import Traffic

DRAIN_S = 1.0
"""Time in which a backlog is to be gone, where tokens allow it."""

SOON_S = 2.0
"""A backlog that its own part drains in this time is left to it."""

TO_BACKLOGS = 0.9
"""Of the tokens that demand leaves, what backlogs may take: without any the others would wait."""

RARELY = 1e-4
"""Share of intervals in which chance brings more unfinished work to a part that fits."""

LEAST_SLACK = 0.02
"""1 - utilisation from which unfinished work by chance is computed, at least."""

FEW = 5
"""Intervals of unfinished work from which sizes alone are changed, at least."""

PRIOR = 30.0
"""Independent maxima of unfinished work that count as much as the share of rate does."""

FLOORS = 0.5
"""Of the tokens that demand leaves, what floors of idle brokers may take."""

LEAST_FLOOR = 0.1
"""Of its floor, what a broker keeps however much the others need."""

NEVER_CLOSED = 1e-4
"""Share that is kept also with a `least_share` of 0: a broker without tokens never wakes."""

MATTERS = 0.1
"""Of the slack that fitting parts give: a change that saves less is not worth it."""

AT_LEAST = 0.01
"""Utilisation that a change must save at least: at high utilisation the slack is nearly nothing."""

UNFIT = 1e-4
"""Chance that parts which fit look as unfit as that, from which they move."""

UNFIT_AFTER_CHANGE = 0.3
"""The same while the window holds a change: the parts were made from little then."""

FASTER = 1.25
"""Ratio by which a backlog must drain faster for rates to be changed."""

LARGER = 1.75
"""Ratio by which a size must lack to be changed: about three times the noise of a maximum."""

TOO_SMALL = 0.8
"""Of its floor, below which a part is lifted."""

LEAST_DEMAND = 1e-6
"""Messages per second of the topic, below which there is nothing to follow."""


class Cause(StrEnum):
    """Name why parts move, or stay."""

    STEADY = "steady"
    """Nothing would move by enough to matter."""
    SHIFT = "shift"
    """Rates no longer fit the traffic: it has moved, or a backlog is gone that had more."""
    BACKLOG = "backlog"
    """Messages wait at a broker for tokens that others do not use."""
    BURSTS = "bursts"
    """Bursts have moved: sizes follow, rates stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How parts follow the traffic."""

    window_s: float = field(
        default=10.0,
        metadata=about(help="History that decides, seconds", min=2, max=300),
    )
    period_s: float = field(
        default=1.0, metadata=about(help="Time between two decisions, seconds", min=1, max=60)
    )
    least_share: float = field(
        default=0.02,
        metadata=about(
            help="Share of the bucket that an idle broker keeps where demand leaves enough, so "
            "that it can wake; a tenth of that it always keeps",
            min=0,
            max=0.2,
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What one broker measured of the topic over about a second."""

    seconds: float
    arrived: float
    """Messages that publishers sent in it."""
    waiting: float
    """Messages that wait at the gate at its end."""
    work_peak: float
    """The largest unfinished work in it, messages: tokens missing from the bucket and messages
    that wait for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """The parts that brokers should have now, and why."""

    parts: Mapping[str, Part]
    """Rates and sizes add up to those of the parts before; those themselves where it is steady."""
    cause: Cause
    brokers: tuple[str, ...] = ()
    """Brokers that gain, the largest gain in rate (else in size) first."""
    drains: bool = False
    """Whether rates are what a backlog needs beside demand: they fit no longer once it is gone."""


def adapted(
    parts: Mapping[str, Part],
    history: Mapping[str, Sequence[Interval]],
    *,
    params: Params,
    drains: bool = False,
) -> Adapted:
    """Return the parts that follow what was measured in the window.

    `parts`: what each broker enforces now; `history`: its intervals in the window, oldest first;
    `drains`: as the decision said that made the parts. A broker without history keeps its part, and
    so does one whose part has no rate: there the topic is closed.
    """
    names = sorted(
        name
        for name, part in parts.items()
        if part.rate_per_s > 0.0 and any(row.seconds > 0.0 for row in history.get(name, ()))
    )
    now = {name: parts[name] for name in names}
    traffic = measured_traffic({name: history[name] for name in names})
    demand = math.fsum(each.demand for each in traffic.values())
    if len(names) < 2 or demand < LEAST_DEMAND:
        return Adapted(parts=dict(parts), cause=Cause.STEADY)
    rate = math.fsum(part.rate_per_s for part in now.values())
    floor = _rate_floor(traffic, rate, params.least_share)
    fitting = _shared(_rates(traffic, dict.fromkeys(names, 0.0), rate), rate, floor)
    limits = _chance_limits(traffic, demand / rate)
    backlogs = _backlogs(now, traffic, fitting, limits)
    draining = _shared(_rates(traffic, backlogs, rate), rate, floor)
    lacks_tokens = demand < rate and any(
        backlogs[name] > 0.0
        and draining[name] - traffic[name].demand
        > FASTER * max(0.0, now[name].rate_per_s - traffic[name].demand)
        for name in names
    )
    sizes = _sizes(now, traffic, fitting, limits, params.least_share)
    sizes_matter = _sizes_matter(now, traffic, fitting, limits, params.least_share)
    backs_up = any(backlogs.values())
    is_passing = drains and not backs_up
    if _rates_matter(now, traffic, fitting, draining, limits, floor, is_passing=is_passing):
        if not sizes_matter:
            sizes = _moved_sizes(now, draining, params.least_share)
        after = _with(now, rates=draining, sizes=sizes)
        cause = Cause.SHIFT
    elif lacks_tokens:
        after = _with(now, rates=draining, sizes=_moved_sizes(now, draining, params.least_share))
        cause = Cause.BACKLOG
    elif sizes_matter:
        after = _with(now, rates=None, sizes=sizes)
        cause = Cause.BURSTS
    else:
        return Adapted(parts=dict(parts), cause=Cause.STEADY)
    gains = {
        name: (after[name].rate_per_s - now[name].rate_per_s, after[name].size - now[name].size)
        for name in names
    }
    by_size = cause is Cause.BURSTS
    gainers = sorted((-gains[name][by_size], name) for name in names if gains[name][by_size] > 0.0)
    return Adapted(
        parts={name: after.get(name, part) for name, part in parts.items()},
        cause=cause,
        brokers=tuple(name for _, name in gainers),
        drains=backs_up and cause is not Cause.BURSTS,
    )


@cache
def _least_f(brokers: int, differences: int, chance: float) -> float:
    """Return the F that chance exceeds; differences of neighbours share counts, so that three tell
    of their variance what two others would."""
    return float(fdtri(brokers, max(1.0, differences / 1.5), 1.0 - chance))


def _chance_limits(traffic: Mapping[str, Traffic], utilisation: float) -> dict[str, float]:
    """Return the unfinished work that chance seldom exceeds where parts fit."""
    slack = max(LEAST_SLACK, 1.0 - utilisation)
    return {
        name: -math.log(RARELY) * each.dispersion / (2.0 * slack) for name, each in traffic.items()
    }


def _backlogs(
    now: Mapping[str, Part],
    traffic: Mapping[str, Traffic],
    fitting: Mapping[str, float],
    limits: Mapping[str, float],
) -> dict[str, float]:
    """Return what waits beyond chance and is not drained soon, in parts as they are or fitting."""
    backlogs = {}
    for name, each in traffic.items():
        part = now[name]
        drained = SOON_S * max(0.0, min(part.rate_per_s, fitting[name]) - each.demand)
        work = each.waiting + max(0.0, part.size - 1.0)
        is_lacking = each.waiting > max(0.0, drained) and work > limits[name]
        backlogs[name] = each.waiting if is_lacking else 0.0
    return backlogs


# --- what follows from it


def _rates(
    traffic: Mapping[str, Traffic], backlogs: Mapping[str, float], rate: float
) -> dict[str, float]:
    demand = math.fsum(each.demand for each in traffic.values())
    waiting = math.fsum(backlogs.values())
    spare = max(0.0, rate - demand)
    drain = min(1.0 / DRAIN_S, TO_BACKLOGS * spare / waiting) if waiting > 0.0 else 0.0
    rest = (rate - drain * waiting) / demand
    return {name: each.demand * rest + drain * backlogs[name] for name, each in traffic.items()}


def _rate_floor(traffic: Mapping[str, Traffic], rate: float, least_share: float) -> float:
    floor = min(max(least_share, NEVER_CLOSED), 1.0 / len(traffic)) * rate
    lifts = math.fsum(max(0.0, floor - each.demand) for each in traffic.values())
    spare = max(0.0, rate - math.fsum(each.demand for each in traffic.values()))
    yielding = FLOORS * spare / lifts if lifts > 0.0 else 1.0
    return floor * min(1.0, max(LEAST_FLOOR, yielding))


def _sizes(
    now: Mapping[str, Part],
    traffic: Mapping[str, Traffic],
    rates: Mapping[str, float],
    limits: Mapping[str, float],
    least_share: float,
    *,
    halves: Sequence[int] = (0, 1),
) -> dict[str, float]:
    size = math.fsum(part.size for part in now.values())
    work = {
        name: min(max(each.work[half] for half in halves), limits[name])
        for name, each in traffic.items()
    }
    all_work, rate = math.fsum(work.values()), math.fsum(rates.values())
    shares = {}
    for name, each in traffic.items():
        # A queue forgets in about phi / (d (1 - rho)^2): so many of its maxima are independent.
        slack = max(LEAST_SLACK, 1.0 - each.demand / rates[name])
        seen = each.demand * each.seconds * slack * slack / each.dispersion
        weight = seen / (seen + PRIOR) if all_work > 0.0 else 0.0
        by_rate = rates[name] / rate
        shares[name] = by_rate + weight * (work[name] / (all_work or 1.0) - by_rate)
    wanted = {name: share * size for name, share in shares.items()}
    return _shared(wanted, size, _size_floor(len(now), size, least_share))


def _moved_sizes(
    now: Mapping[str, Part], rates: Mapping[str, float], least_share: float
) -> dict[str, float]:
    """Return sizes that go where rates go, as much per rate as before."""
    size = math.fsum(part.size for part in now.values())
    moved = {name: part.size * rates[name] / part.rate_per_s for name, part in now.items()}
    return _shared(moved, size, _size_floor(len(now), size, least_share))


def _size_floor(parts: int, size: float, least_share: float) -> float:
    least = min(max(least_share, NEVER_CLOSED), 1.0 / parts) * size
    return max(least, 1.0) if size >= parts else least


def _shared(wanted: Mapping[str, float], whole: float, floor: float) -> dict[str, float]:
    """Return shares of the whole in proportion to what is wanted, none below the floor."""
    low: set[str] = set()
    while True:
        free = {name: amount for name, amount in wanted.items() if name not in low}
        total = math.fsum(free.values())
        left = max(0.0, whole - floor * len(low))
        if not free:
            return dict.fromkeys(wanted, whole / len(wanted))
        factor = left / total if total > 0.0 else 0.0
        below = {name for name, amount in free.items() if amount * factor < floor}
        if not below:
            return {
                name: floor if name in low else amount * factor for name, amount in wanted.items()
            }
        low |= below


def _with(
    now: Mapping[str, Part],
    *,
    rates: Mapping[str, float] | None,
    sizes: Mapping[str, float] | None,
) -> dict[str, Part]:
    """Return the parts with these rates and sizes, which add up to those of now."""
    rates_now = {name: part.rate_per_s for name, part in now.items()}
    sizes_now = {name: part.size for name, part in now.items()}
    rates = rates_now if rates is None else _conserved(rates, rates_now)
    sizes = sizes_now if sizes is None else _conserved(sizes, sizes_now)
    return {name: Part(rate_per_s=rates[name], size=sizes[name]) for name in now}


def _conserved(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """Return the amounts with what rounding lacks on the largest."""
    largest = max(sorted(after), key=lambda name: after[name])
    residue = math.fsum(before.values()) - math.fsum(after.values())
    return {**after, largest: max(0.0, after[largest] + residue)}


# --- whether it matters


def _rates_matter(
    now: Mapping[str, Part],
    traffic: Mapping[str, Traffic],
    fitting: Mapping[str, float],
    draining: Mapping[str, float],
    limits: Mapping[str, float],
    floor: float,
    *,
    is_passing: bool,
) -> bool:
    """Return whether a part is too small for its traffic, by more than chance. `is_passing`: parts
    were made for a backlog that is gone."""
    if any(part.rate_per_s < TOO_SMALL * floor for part in now.values()):
        return True
    # The utilisation of all that are above the floor.
    utilisation = max(each.demand / fitting[name] for name, each in traffic.items())
    least = MATTERS * abs(1.0 - utilisation) + AT_LEAST
    is_lacking = any(
        each.demand / now[name].rate_per_s - each.demand / draining[name] > least
        for name, each in traffic.items()
    )
    if not is_lacking:
        return False
    # Of few intervals a dispersion may come out far too small, and would decide alone.
    usual = median(each.dispersion for each in traffic.values())
    misfit, freedom = 0.0, -1
    for name, each in traffic.items():
        part_rate = now[name].rate_per_s
        expected = utilisation * part_rate
        if each.demand < expected and part_rate * TOO_SMALL <= floor:
            continue  # an idle broker at its floor fits
        variance = max(usual, each.dispersion) * max(expected, 1.0 / each.seconds) / each.seconds
        misfit += (each.demand - expected) ** 2 / variance
        freedom += 1
    has_changed = is_passing or any(
        each.has_changed or each.waited > limits[name] for name, each in traffic.items()
    )
    chance = UNFIT_AFTER_CHANGE if has_changed else UNFIT
    freedom = max(1, freedom)
    differences = sum(each.differences for each in traffic.values())
    return misfit > freedom * _least_f(freedom, differences, chance)


def _sizes_matter(
    now: Mapping[str, Part],
    traffic: Mapping[str, Traffic],
    rates: Mapping[str, float],
    limits: Mapping[str, float],
    least_share: float,
) -> bool:
    """Return whether a part was exceeded that both halves of the window would have larger."""
    floor = _size_floor(len(now), math.fsum(part.size for part in now.values()), least_share)
    older, newer = (
        _sizes(now, traffic, rates, limits, least_share, halves=(half,)) for half in (0, 1)
    )
    return any(
        part.size < TOO_SMALL * floor
        or (
            traffic[name].intervals >= FEW
            and max(traffic[name].work) > part.size
            and min(older[name], newer[name]) > LARGER * part.size
        )
        for name, part in now.items()
    )
