"""The protocol between the control plane and its agents: pure decisions, no IO, no clock.

| file | whose mind it is |
|---|---|
| `wire` | the words both sides use: documents, orders, marks, reports |
| `coordinator` | the executor: which action begins, commits, aborts, ends |
| `participant` | an agent's part in a shift, append or detach |
| `reconcile` | an agent's difference between what it should do and what it does |
| `lease` | who may still act in a broker's name |
"""
