"""The protocol between the control plane and its agents: pure decisions, no IO, no clock.

| file | what it is |
|---|---|
| `wire` | the words both sides use: documents, orders, reports |
| `views`, `decisions`, `applying` | what the executor knows, may decide, and what that changes |
| `coordinator`, `rollback` | which action begins, commits, aborts, ends |
| `order_book` | all actions an agent takes part in, one at a time |
| `participant`, `participant_state`, `parts` | an agent's part in one shift, append or detach |
| `removal`, `carrying` | removing a broker that is gone for good, without its vote |
| `effects` | what a participant asks of the agent around it |
| `tables` | forwarding tables and interest |
| `reconcile` | the difference between what a broker should do and what it does |
"""
