"""Chaos on the whole system as `make up` runs it: real control plane, agents and brokers.

    python -m tests.e2e.chaos --deliveries 1000000      # part of `make thorough`

Random plans of link shifts are approved and carried out under audited load, while processes are
killed and frozen, disks are full, state directories are lost and servers are away. What was
acknowledged arrives once and in order, whatever happens.
"""
