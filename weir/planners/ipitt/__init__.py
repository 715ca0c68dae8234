"""Plan with the integer program of IPITT: the cheapest plan of a given number of steps.

Source: Salehi, Zhang, Jacobsen: Incremental Topology Transformation for Publish/Subscribe Systems
Using Integer Programming, sections III to V and appendix A. `actions` has its three action sets,
`horizon` leaves out what no plan of that length can use, `model` writes the program and reads its
answer, `sizes` counts what the paper's table I counts.
"""

from weir.planners.ipitt.plan import NAME, SUMMARY, TITLE, Params, plan

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "plan"]
