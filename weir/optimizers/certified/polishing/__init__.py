"""Exact improvement of a feasible allocation: compiled rate problem, searches over populations."""
