"""The protocol between the control plane and its agents: pure decisions, no IO, no clock.

| file | what it is |
|---|---|
| `wire` | the words both sides use: documents, orders, reports, and names of streams |
| `views`, `decisions` | what the executor knows and orders, may decide, and what that changes |
| `coordinator` | which action begins, commits, aborts, ends, and what a rollback inverts |
| `order_book` | all actions an agent takes part in, one at a time |
| `participant`, `participant_state`, `parts` | an agent's part in one shift, append or detach |
| `removal` | the roles in removing a broker that is gone for good, without its vote |
| `termination` | how participants find an outcome that they do not hear |
| `effects` | what a participant asks of the agent around it |
| `tables` | forwarding tables and interest |
| `reconcile` | the difference between what a broker should do and what it does |
"""
