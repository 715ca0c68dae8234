"""Forecast one hourly series: a level that moves slowly, and what belongs to the hour of the day or
of the week.

That is exponential smoothing with an additive season (Holt and Winters) of the logarithms, by
statsmodels: demand is multiplied by the hour, not added to. The interval is that of simulated
paths whose errors are drawn from those of the past, as many times larger as a fit flatters.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY, WEEK = 24, 168
"""Seasons, hours."""
LEAST_SEASONS = 2
"""A season is fitted after so many of them."""
MOST_MISSING = 0.2
"""Share of the hours that may not have been measured."""
PATHS = 400
PARAMETERS = 3
"""Of the smoothing besides its season: how fast level and season move, and the first level."""
JUDGED = WEEK
"""Hours, the last ones, by which the error of a forecast is estimated."""


class NoForecast(Exception):
    """Signal that a series tells nothing of the hours to come; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is to be expected in each of the next hours, in the unit of the series."""

    season: int
    """DAY or WEEK."""
    mean: list[float]
    low: list[float]
    high: list[float]
    """Enough with the probability of the level; `low` is with the same one too little."""
    error: float
    """Median of what the forecast an hour ahead was wrong by in the last week, over what came."""


def forecast(values: Sequence[float | None], *, hours: int, level: float, seed: int) -> Forecast:
    """Return a forecast of the `hours` after a series of hourly amounts, not negative, None where
    nothing was measured. Raises NoForecast."""
    # It takes a second to import, and most processes forecast nothing.
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    series = np.array([np.nan if value is None else value for value in values], dtype=float)
    known = np.flatnonzero(~np.isnan(series))
    series = series[known[0] :] if len(known) else series[:0]
    season = WEEK if len(series) >= LEAST_SEASONS * WEEK else DAY
    _check(series, season)
    logarithms = np.log1p(_filled(series, season))
    if np.ptp(logarithms) == 0.0:
        same = [float(series[~np.isnan(series)][0])] * hours
        return Forecast(season=season, mean=same, low=same, high=same, error=0.0)
    with warnings.catch_warnings():
        # A smoothing that is not at its best is a forecast all the same; its error says how good.
        warnings.simplefilter("ignore")
        model = ExponentialSmoothing(
            logarithms, seasonal="add", seasonal_periods=season, initialization_method="heuristic"
        )
        fitted: Any = model.fit()
        errors = _errors(np.asarray(fitted.resid), season)
        drawn = np.random.default_rng(seed).choice(errors, (hours, PATHS))
        paths = fitted.simulate(hours, repetitions=PATHS, error="add", random_errors=drawn)
    amounts = np.maximum(np.expm1(np.asarray(paths).reshape(hours, PATHS)), 0.0)
    if not np.isfinite(amounts).all():
        raise NoForecast("its smoothing has no finite answer")
    low, high = np.quantile(amounts, [1.0 - level, level], axis=1)
    return Forecast(
        season=season,
        mean=_rounded(amounts.mean(axis=1)),
        low=_rounded(low),
        high=_rounded(high),
        error=_error(series, np.expm1(np.asarray(fitted.fittedvalues))),
    )


def _errors(residuals: Any, season: int) -> Any:
    """Return the errors of the past as large as those to come: a season was fitted to the same
    hours, and its fit is nearer to them than to the next ones."""
    fitted = season + PARAMETERS
    return residuals * np.sqrt(len(residuals) / max(len(residuals) - fitted, 1))


def _check(series: Any, season: int) -> None:
    if len(series) < LEAST_SEASONS * DAY:
        measured = "1 hour was" if len(series) == 1 else f"{len(series)} hours were"
        raise NoForecast(f"{measured} measured, {LEAST_SEASONS * DAY} are needed")
    missing = np.isnan(series).mean()
    if missing > MOST_MISSING:
        raise NoForecast(
            f"{missing:.1%} of the hours were not measured, at most {MOST_MISSING:.0%} may be"
        )
    if np.isnan(series[-season:]).all():
        raise NoForecast("nothing was measured in the last season")


def _filled(series: Any, season: int) -> Any:
    """Return the series with gaps filled: by the hour of the season before or after, else by the
    hours around."""
    filled = series.copy()
    for place in np.flatnonzero(np.isnan(filled)):
        for other in (place - season, place + season):
            if 0 <= other < len(filled) and not np.isnan(filled[other]):
                filled[place] = filled[other]
                break
    gaps = np.isnan(filled)
    if gaps.any():
        filled[gaps] = np.interp(np.flatnonzero(gaps), np.flatnonzero(~gaps), filled[~gaps])
    return filled


def _error(series: Any, ahead: Any) -> float:
    """Return the median relative error an hour ahead, of the hours that were measured."""
    came, ahead = series[-JUDGED:], ahead[-JUDGED:]
    known = ~np.isnan(came) & (came > 0)
    if not known.any():
        return 0.0
    return float(round(np.median(np.abs(ahead[known] - came[known]) / came[known]), 6))


def _rounded(values: Any) -> list[float]:
    """Return amounts with the digits that mean something, so that every machine says the same."""
    return [float(f"{value:.8g}") if value > 1e-9 else 0.0 for value in values]
