"""State machines as tables; nothing else in Weir knows which change follows which.

A service asks its table (`advance`, `allows`) and holds no list of states of its own. What never
is a state of a row stays where it is: the phases of an agent within one action belong to the
protocol (`weir.coordination`), and whether an agent is silent is read from its lease.
"""
