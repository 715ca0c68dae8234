"""The life of a plan: from a proposal somebody looks at to a change that was carried out.

draft --submit--> pending_review --approve--> approved --execute--> executing --finish--> executed
  ^                 |  |                        |  |                    |
  '----withdraw-----'  '--reject--> rejected    |  '--lapse--> pending_review
                                                |                    '--break_off--> stale
draft, pending_review, approved --go_stale--> stale, --supersede--> superseded,
                                    --discard--> discarded

`approve` is the last approval that the policy asks for; earlier ones change no state. `lapse`: an
approval expired before anybody executed the plan. `break_off`: the execution failed, was stopped
or rolled back, so what the plan says about "before" has to be looked at again.
"""

from __future__ import annotations

from enum import StrEnum

from weir.lifecycle.machine import Machine


class PlanState(StrEnum):
    """Name the states of a plan."""

    DRAFT = "draft"
    PENDING_REVIEW = "pending_review"
    APPROVED = "approved"
    EXECUTING = "executing"
    EXECUTED = "executed"
    REJECTED = "rejected"
    STALE = "stale"
    SUPERSEDED = "superseded"
    DISCARDED = "discarded"


class PlanCommand(StrEnum):
    """What may happen to a plan."""

    SUBMIT = "submit"
    WITHDRAW = "withdraw"
    APPROVE = "approve"
    REJECT = "reject"
    LAPSE = "lapse"
    EXECUTE = "execute"
    FINISH = "finish"
    BREAK_OFF = "break_off"
    GO_STALE = "go_stale"
    SUPERSEDE = "supersede"
    DISCARD = "discard"


_S, _C = PlanState, PlanCommand
_UNSETTLED = {
    _C.GO_STALE: _S.STALE,
    _C.SUPERSEDE: _S.SUPERSEDED,
    _C.DISCARD: _S.DISCARDED,
}

PLANS = Machine(
    "plan",
    {
        _S.DRAFT: {_C.SUBMIT: _S.PENDING_REVIEW, **_UNSETTLED},
        _S.PENDING_REVIEW: {
            _C.WITHDRAW: _S.DRAFT,
            _C.APPROVE: _S.APPROVED,
            _C.REJECT: _S.REJECTED,
            **_UNSETTLED,
        },
        _S.APPROVED: {_C.EXECUTE: _S.EXECUTING, _C.LAPSE: _S.PENDING_REVIEW, **_UNSETTLED},
        _S.EXECUTING: {_C.FINISH: _S.EXECUTED, _C.BREAK_OFF: _S.STALE},
        _S.EXECUTED: {},
        _S.REJECTED: {},
        _S.STALE: {},
        _S.SUPERSEDED: {},
        _S.DISCARDED: {},
    },
)

UNSETTLED = frozenset({_S.DRAFT, _S.PENDING_REVIEW, _S.APPROVED})
"""Not begun: a newer plan supersedes these, a changed model makes them stale."""
