"""The room of solvers: a small program with a known answer."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import sparse

from weir.solvers import BinaryProgram, MixedProgram, cp_sat, highs, highs_binary, row_generation

if TYPE_CHECKING:
    from weir.solvers import BinarySolver

BINARY: list[BinarySolver] = [cp_sat, highs_binary]


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
    mixture = highs.maximise(program(15.5), start=np.zeros(3), nodes=100, stop=never)
    assert mixture is not None
    assert mixture.tolist() == [0.0, 3.0, 2.5]
    assert program(15.5).gain @ mixture == 23.5


def test_whole_numbers_come_out_whole() -> None:
    mixture = highs.maximise(program(13.0), start=np.zeros(3), nodes=100, stop=never)
    assert mixture is not None
    assert np.array_equal(mixture[:2], np.floor(mixture[:2]))
    assert 6 * mixture[0] + 4 * mixture[1] + mixture[2] <= 13.0 + 1e-9


def test_a_growing_program_moves_to_where_its_new_rows_hold() -> None:
    grown = row_generation.GrowingProgram(np.ones(2))
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
    grown = row_generation.GrowingProgram(np.ones(60))
    rows = sparse.csr_array(chance.uniform(0, 1, (200, 60)))
    grown.add(rows, chance.uniform(1, 2, 200))
    assert grown.minimum(np.zeros(60), np.full(60, 9.0), stop=lambda: True) is None


def test_says_so_where_nothing_fits() -> None:
    impossible = program(-1.0)
    assert highs.maximise(impossible, start=np.zeros(3), nodes=100, stop=never) is None


def yes_or_no(seed: int, *, whole: bool = True) -> BinaryProgram:
    """Eight choices, equalities among the rows; some have no point."""
    chance = np.random.default_rng(seed)
    matrix = chance.integers(-1, 3, size=(5, 8)).astype(float)
    most = chance.integers(1, 4, size=5).astype(float)
    least = np.where(np.arange(5) < 2, most, -np.inf)
    cost = chance.integers(-3, 6, size=8) / (1.0 if whole else 7.0)
    return BinaryProgram(cost=cost, matrix=sparse.csr_array(matrix), least=least, most=most)


@pytest.mark.parametrize("solver", BINARY)
@pytest.mark.parametrize("whole", [True, False])
def test_choices_agree_with_trying_all_of_them(solver: BinarySolver, whole: bool) -> None:
    outcomes = set()
    for seed in range(12):
        program = yes_or_no(seed, whole=whole)
        points = np.array(list(product((0, 1), repeat=8)))
        load = points @ program.matrix.toarray().T
        fits = np.all((load >= program.least) & (load <= program.most), axis=1)
        answer = solver.minimise(program, start=None, seed=seed, stop=never)
        assert answer.is_closed
        outcomes.add(bool(fits.any()))
        if not fits.any():
            assert answer.values is None
            assert answer.bound == np.inf
            continue
        best = (points[fits] @ program.cost).min()
        assert answer.values is not None
        assert program.cost @ answer.values == pytest.approx(best, abs=1e-5)
        assert best - 1e-4 <= answer.bound <= best + 1e-6
    assert outcomes == {True, False}


def hard(seed: int) -> BinaryProgram:
    """A cover that takes either solver far more than a second."""
    chance = np.random.default_rng(seed)
    matrix = (chance.random((300, 400)) < 0.03).astype(float)
    matrix[:, 0] = 1.0
    return BinaryProgram(
        cost=np.concatenate([[900.0], chance.integers(5, 9, 399).astype(float)]),
        matrix=sparse.csr_array(matrix),
        least=np.full(300, 2.0),
        most=np.full(300, np.inf),
    )


@pytest.mark.parametrize("solver", BINARY)
def test_a_search_ends_when_told_to_and_what_it_says_is_true(solver: BinarySolver) -> None:
    questions = 0

    def soon() -> bool:
        nonlocal questions
        questions += 1
        return questions > 10

    answer = solver.minimise(hard(1), start=np.ones(400, dtype=bool), seed=0, stop=soon)
    assert not answer.is_closed
    if answer.values is not None:
        assert np.all(hard(1).matrix @ answer.values >= 2.0)
        assert answer.bound <= hard(1).cost @ answer.values


@pytest.mark.parametrize("solver", BINARY)
def test_an_error_in_the_question_ends_the_search_and_is_raised(solver: BinarySolver) -> None:
    def broken() -> bool:
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        solver.minimise(hard(2), start=None, seed=0, stop=broken)


def test_both_solvers_share_a_process_in_either_order() -> None:
    program = yes_or_no(0)
    for order in (BINARY, BINARY[::-1]):
        bounds = [s.minimise(program, start=None, seed=0, stop=never).bound for s in order]
        assert bounds[0] == pytest.approx(bounds[1])
