"""The integer program of IPITT: which plans of so many steps there are, the cheapest first.

Source: Salehi, Zhang, Jacobsen: Incremental Topology Transformation for Publish/Subscribe Systems
Using Integer Programming, sections III to V and appendix A. `actions` has its three action sets,
`horizon` leaves out what no plan of that length can use, `model` writes the program and reads its
answer, `sizes` counts what the paper's table I counts.
"""

from weir.planners.ipitt.plan import NAME, SUMMARY, TITLE, Params, plan

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "plan"]
