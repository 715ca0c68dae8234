"""Figure 6 of the paper on a real fleet: what a transformation does to latency, queues and time.

Salehi, Zhang, Jacobsen: Incremental Topology Transformation for Publish/Subscribe Systems Using
Integer Programming, section VI.C. See `benchmarks.transformation_fleet.__main__`.
"""
