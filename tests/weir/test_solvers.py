"""The room of solvers: a small program with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from weir.solvers import MixedProgram, growing, highs


def never() -> bool:
    return False


def program(limit: float) -> MixedProgram:
    """Two whole variables and one real one share a limit; the real one is worth least."""
    return MixedProgram(
        gain=np.array([10.0, 7.0, 1.0]),
        matrix=sparse.csr_array(np.array([[6.0, 4.0, 1.0]])),
        limit=np.array([limit]),
        lower=np.zeros(3),
        upper=np.array([3.0, 3.0, 2.5]),
        is_whole=np.array([True, True, False]),
    )


def test_finds_the_best_mixture_of_whole_and_real_numbers() -> None:
    found = highs.maximise(program(15.5), start=np.zeros(3), nodes=100, stop=never)
    assert found is not None
    assert found.tolist() == [0.0, 3.0, 2.5]
    assert program(15.5).gain @ found == 23.5


def test_whole_numbers_come_out_whole() -> None:
    found = highs.maximise(program(13.0), start=np.zeros(3), nodes=100, stop=never)
    assert found is not None
    assert np.array_equal(found[:2], np.floor(found[:2]))
    assert 6 * found[0] + 4 * found[1] + found[2] <= 13.0 + 1e-9


def test_a_growing_program_moves_to_where_its_new_rows_hold() -> None:
    grown = growing.GrowingProgram(np.ones(2))
    box = (np.zeros(2), np.full(2, 5.0))
    grown.add(sparse.csr_array(np.array([[1.0, 2.0]])), np.array([1.0]))
    first = grown.minimum(*box, stop=never)
    assert first is not None
    assert first.value == pytest.approx(0.5)
    grown.add(sparse.csr_array(np.array([[2.0, 1.0]])), np.array([2.0]))
    second = grown.minimum(*box, stop=never)
    assert second is not None
    assert second.value == pytest.approx(1.0)
    assert second.multipliers == pytest.approx([1 / 3, 1 / 3])
    tighter = grown.minimum(np.array([0.0, 0.5]), np.full(2, 5.0), stop=never)
    assert tighter is not None
    assert tighter.at == pytest.approx([0.75, 0.5])


def test_a_growing_program_ends_when_told_to() -> None:
    chance = np.random.default_rng(0)
    grown = growing.GrowingProgram(np.ones(60))
    rows = sparse.csr_array(chance.uniform(0, 1, (200, 60)))
    grown.add(rows, chance.uniform(1, 2, 200))
    assert grown.minimum(np.zeros(60), np.full(60, 9.0), stop=lambda: True) is None


def test_says_so_where_nothing_fits() -> None:
    impossible = program(-1.0)
    assert highs.maximise(impossible, start=np.zeros(3), nodes=100, stop=never) is None
