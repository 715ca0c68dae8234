"""Provide a broker product that exists in memory only, for what-if studies and large demos.

A `VirtualBroker` keeps what a real one would keep: ingress, outboxes, interest, who is admitted.
It outlives its agent's drivers but not the process. A `VirtualNetwork` is where drivers find each
other's brokers by address (`sim://name`). Messages are the same as anywhere, so router, pumps and
shifts run on it unchanged.
"""
