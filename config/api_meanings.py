"""Say what every value of every fixed set in the published schema means, and which states are
final."""

from typing import Any

from django.conf import settings

from apps.runs.api.documentation import RERUN
from apps.runs.selectors import kind_choices, schedulable_choices
from config.api_documentation import documented
from weir.lifecycle.executions import EXECUTIONS
from weir.lifecycle.firings import FIRINGS
from weir.lifecycle.machine import Machine
from weir.lifecycle.plans import PLANS
from weir.lifecycle.runs import RUNS
from weir.lifecycle.steps import ACTIONS, STEPS

MACHINES: dict[str, Machine[Any, Any]] = {
    **documented(settings.INSTALLED_APPS, "MACHINES"),
    "RunStateEnum": RUNS,
    "PlanStateEnum": PLANS,
    "ExecutionStateEnum": EXECUTIONS,
    "StepStateEnum": STEPS,
    "ActionStateEnum": ACTIONS,
    "FiringStateEnum": FIRINGS,
}

_EDIT = {"edit": "PATCH it.", "delete": "DELETE it."}

MEANINGS: dict[str, dict[str, str]] = {
    **documented(settings.INSTALLED_APPS, "MEANINGS"),
    # Waiting messages
    "DeleteEnum": {
        "nothing": "Objects that the document does not name stay.",
        "rest": "Objects of the given kinds that it does not name are deleted.",
    },
    "GrowthEnum": {
        "unknown": "Too few samples since the agent began.",
        "steady": "Does not grow, or not beyond chance.",
        "growing": "Grows.",
        "alarm": "Is full, or grew for the whole window and will be full soon.",
    },
    "LimitEnum": {
        "messages": "The stream before the gate takes no more messages; publishers are refused.",
        "bytes": "The stream before the gate takes no more bytes; publishers are refused.",
        "age": "The broker drops messages that have waited for so long.",
        "storage": "The broker may store no more, of any topic.",
    },
    "RunKindEnum": {kind: f"{title}." for kind, title in kind_choices()},
    # States
    "RunStateEnum": {
        "queued": "Waits for a worker.",
        "running": "Is being computed.",
        "succeeded": "Has a result.",
        "infeasible": "Has ended: nothing is feasible, `infeasibility` says why.",
        "failed": "Has ended by an error; `failure` says which.",
        "cancelled": "Has ended because somebody cancelled it.",
    },
    "PlanStateEnum": {
        "draft": "Made, and not sent for review.",
        "pending_review": "Waits for approvals.",
        "approved": "Has the approvals that the policy asks for; an operator may execute it.",
        "executing": "Is being carried out.",
        "executed": "Was carried out.",
        "rejected": "A reviewer rejected it.",
        "stale": "What it was made of has changed, or its execution was broken off.",
        "superseded": "A newer plan stands in its place.",
        "discarded": "Somebody dropped it before it was begun.",
    },
    "ExecutionStateEnum": {
        "pending": "Has not begun.",
        "running": "Steps are carried out.",
        "pausing": "Pauses when the running step has ended.",
        "paused": "Begins no step until it is resumed.",
        "stopping": "Stops when the running step has ended.",
        "stopped": "Ended early; what is done stays done, and may still be rolled back.",
        "rolling_back": "Takes back what is done, last first.",
        "rolled_back": "Everything is taken back.",
        "succeeded": "Every step is done.",
        "failed": "A step could not be carried out; what is done may still be rolled back.",
    },
    "StepStateEnum": {
        "pending": "Has not begun.",
        "in_progress": "Its actions run.",
        "completed": "All its actions are done.",
        "aborting": "Its actions are called off.",
        "aborted": "It was called off, or never begun.",
        "dead": "An agent does not answer after the commit: a person decides.",
    },
    "ActionStateEnum": {
        "pending": "Has not begun.",
        "preparing": "The brokers that take part get ready.",
        "committed": "It will be done; there is no way back.",
        "done": "In force at all brokers that take part.",
        "aborting": "It is called off.",
        "aborted": "It ended as if it had never been; it may be tried again.",
        "dead": "An agent does not answer after the commit: a person decides.",
    },
    "FiringStateEnum": {
        "waiting": "Waits for the one that computes.",
        "computing": "Its run, and its plan, are being made.",
        "done": "Ended; `outcome` says with what.",
        "merged": "Another one waited already and stands for this one, too.",
        "failed": "Ended by an error; `detail` says which.",
    },
    "AgentStateEnum": {
        "never": "Has a credential, and never connected.",
        "live": "Answers.",
        "silent": "Does not answer; its broker goes on unchanged.",
        "revoked": "Its credential is no longer accepted, until it is enrolled again.",
    },
    "CheckStateEnum": {
        "pass": "Nothing stands in the way.",
        "fail": "The plan cannot be carried out because of it.",
        "warn": "The plan can be carried out; somebody should look.",
        "unknown": "It cannot be told now.",
    },
    # Commands
    "SessionCommandEnum": {
        "create_system": "Add a system, and edit models.",
        "start_run": "Start computations.",
        "stop_automatic": "Stop everything that Weir does by itself.",
        "manage_people": "Add people and change their roles.",
        "manage_agents": "Enrol and revoke agents.",
        "manage_tokens": "Make and revoke one's own tokens.",
        "manage_connections": "Connect systems to where plans open their changes.",
        "manage_webhooks": "Choose which systems hear of what happens.",
        "manage_channels": "Choose which channels of chats are told of what is new.",
    },
    "TokenCommandEnum": {"revoke": "DELETE it."},
    "EditCommandEnum": {"edit": "PATCH it."},
    "ChangedObjectActionEnum": {
        "create": "No object was the row's.",
        "update": "The object of the row differed.",
        "delete": "No row was about the object.",
    },
    "ImportActionEnum": {
        "create": "No object of the system had the name.",
        "update": "The object of the name differed.",
    },
    "ObjectCommandEnum": _EDIT,
    "SystemCommandEnum": {
        **_EDIT,
        "add": "Add objects to its model.",
        "optimize": "Start computations on it.",
        "set_access": "PUT `access`.",
        "set_retention": "PUT `retention`.",
    },
    "AgentCommandEnum": {
        "enrol": "POST `/agents` for its broker again: a new credential.",
        "edit": "PATCH its address.",
        "revoke": "DELETE it: its credential ends.",
    },
    "RunCommandEnum": RERUN,
    "RunEventEnum": {
        "open": "Somebody, a schedule or a trigger asked for it.",
        "cancel_requested": "Somebody asked to cancel it while it ran.",
        "start": "A worker took it.",
        "succeed": "It ended with a result.",
        "find_infeasible": "It ended: nothing is feasible.",
        "fail": "It ended by an error.",
        "cancel": "It ended because somebody cancelled it.",
        "retry": "Its worker died; it waits for another one.",
    },
    "RuleCommandEnum": {**_EDIT, "run": "Fire the schedule now."},
    "RestoredAllowedCommandsEnum": {
        "adopt_restored": "Declare that the database counts from now on."
    },
    "PlanCommandEnum": {
        "submit": "Send it for review.",
        "withdraw": "Take it back from review.",
        "approve": "Approve its content.",
        "reject": "Reject it, with a comment.",
        "execute": "Carry it out.",
        "discard": "Drop it.",
        "dry_run": "Check it against the live state; nothing is touched.",
        "accept_overload": "Accept that it loads more than a capacity.",
        "roll_back": "Make a plan that rolls it back.",
        "edit": "Name its change ticket.",
    },
    "ExecutionCommandEnum": {
        "pause": "Begin no further step.",
        "resume": "Go on.",
        "stop": "End after the running step; what is done stays done.",
        "roll_back": "End after the running step and undo what is done.",
    },
    "OutcomeEnum": {
        "abort": "Call the action off.",
        "bury": "Stop waiting for an agent that will not come back.",
        "commit": "Order the switch again.",
    },
    # Answers of computations
    "JudgedEnum": {
        "helped": "The utility rose by what was promised, or nearly.",
        "kept": "A fall was promised, and the utility fell by no more; or nothing is known of it, "
        "and every part of which something is known was kept: half of all at least.",
        "partly": "The utility rose by less than was promised, or a part was missed.",
        "missed": "It did not rise although that was promised, or it fell by more than that; or "
        "nothing is known of it, and every part of which something is known was missed; or the "
        "plan was taken back before its effect was measured.",
        "too_early": "The window after the execution is not over.",
        "unknown": "It cannot be told; `because` says why.",
    },
    "PromisePartQuantityEnum": {
        "rate": "What passes the gate of a topic, as far as the plan lets it.",
        "consumers": "Who is admitted of a class, as far as the plan lets them.",
        "load": "How full the fullest place is, at the model's costs.",
        "delay": "The delay of a topic against its objective.",
        "traffic": "What all links carry, for each message that comes.",
        "filtering": "What receivers spend on messages that they did not want, for each that they "
        "wanted.",
        "wait": "How long 99 % of the messages wait at most at the parts of a topic's bucket.",
    },
    "KeptEnum": {
        "kept": "It came as promised.",
        "missed": "It did not; `because` says by how much and likely why.",
        "unknown": "It cannot be told; `because` says why.",
    },
    "FiringOutcomeEnum": {
        "computed": "It was computed; nothing else was asked for.",
        "drafted": "A draft of a plan was made.",
        "submitted": "A plan was made and sent for review.",
        "approved": "A plan was made, and the policy approved it.",
        "nothing": "There was nothing to change.",
        "kept": "Another plan stands, and is not replaced.",
        "stale": "The model moved while it was computed.",
    },
    "LeftOutReasonEnum": {
        "band": "Smaller than the policy's band.",
        "reversal": "It turns the last move around without leaving the band on the other side.",
        "dwell": "The value changed too short a time ago.",
        "charge": "It gains less than moving costs.",
        "room": "It does not fit without changes that are left out.",
        "no_need": "It only gives something up, and nothing that is kept needs the room.",
    },
    "BasisEnum": {
        "measured": "Agents measured it over the last minute.",
        "in_force": "Computed for the allocation that was brought into force last.",
        "proposed": "Computed for an allocation that no plan has brought into force.",
        "none": "Nothing is known.",
    },
    # Calibration
    # Overlays
    "OpEnum": {
        "shift": "`broker` is linked with `to` instead of `source`, which is linked with `to`.",
        "append": "`broker`, which has no link, is linked with `to`.",
        "detach": "`broker`, which has one link, leaves the overlay.",
        "move": "`broker` is linked with `to` instead of `source`, however far that is.",
        "exchange": "The link of `at` with `to` stands in for that of `broker` with `source`.",
    },
    "PurposeEnum": {
        "overlay": "Carries messages, when it is in force.",
        "goal": "A tree to compare with and to plan for.",
    },
    # Models
    "PatternEnum": {
        "one_to_many": "One publisher, many consumers.",
        "one_to_one": "One publisher, one consumer.",
        "request_response": "Requests that are answered; utility depends on the round trip.",
    },
    "DeliveryEnum": {
        "best_effort": "A message may be lost.",
        "reliable": "A message is kept until it is delivered, for as long as the retention says.",
    },
    "ProductEnum": {
        "simulated": "No broker: a simulation.",
        "nats": "NATS.",
        "kafka": "Apache Kafka; model only.",
        "rabbitmq": "RabbitMQ; model only.",
        "mqtt": "MQTT; model only.",
    },
    "QuantityEnum": {
        "delay_p50_s": "Median delay in seconds, at most.",
        "delay_p99_s": "Delay in seconds below which 99 of 100 messages stay, at most.",
        "delay_mean_s": "Mean delay in seconds, at most.",
        "loss_ratio": "Share of messages lost, 0 to 1, at most.",
        "rate_per_s": "Delivered rate in messages per second, at least.",
    },
    "UtilityFunctionKindEnum": {
        "latency": "By the mean round trip of request and response.",
        "linear": "Proportional to the rate.",
        "log": "Grows with the logarithm of the rate.",
        "piecewise": "Straight between given points.",
        "power": "Grows with a power of the rate.",
    },
    "UnmanagedEnum": {
        "refuse": "Clients of no consumer class are refused.",
        "report": "They are let in, named and counted.",
        "allow": "They are let in, neither named nor counted.",
    },
    "ModelStateKindEnum": {"flow": "The flow of a topic.", "class": "A class at one broker."},
    "UnitEnum": {"msg/s": "Messages per second.", "consumers": "Consumers."},
    "StageEnum": {
        "compute": "Needed to compute the model.",
        "plan": "Needed to make a plan, too.",
        "carry_out": "Needed to carry a plan out, too.",
    },
    "ChecklistItemPlaceEnum": {
        "system": "The system itself.",
        "brokers": "Its brokers.",
        "topics": "Its topics.",
        "consumer-classes": "Its consumer classes.",
        "overlays": "Its overlays.",
        "telemetry": "Its agents.",
    },
    # Policies, plans and agents
    "DecisionEnum": {"approve": "In favour.", "reject": "Against; one is enough."},
    "DirectionEnum": {"forward": "Carries the plan out.", "undo": "Rolls it back."},
    "EffectEnum": {
        "allow": "Plans are carried out within the window only.",
        "deny": "No plan is carried out within the window.",
    },
    "PhaseEnum": {
        "ready": "Prepared; it waits for the outcome.",
        "refused": "It cannot prepare; `detail` says why.",
        "switched": "It has carried the commit out.",
        "released": "It has carried the abort out.",
    },
    "LossReasonEnum": {
        "broker_away": "Best effort, and the broker did not answer.",
        "too_large": "Too large for the broker with what Weir adds.",
        "ingress_full": "Best effort, and too many waited before the gate.",
        "link_full": "Best effort, and too many waited at the end of a link.",
        "link_away": "Best effort, and the neighbour's agent was not connected.",
        "not_read": "It waited in the agent when its source went away.",
        "unreadable": "Weir did not write it.",
        "multicast_full": "To multicast subscribers, and the kernel had no room for it.",
        "multicast_away": "To multicast subscribers, and the network did not take it.",
        "unheard": "Best effort, sent before a neighbour had said whether it wants it.",
    },
    "RoleEnum": {
        "viewer": "Reads, and has tokens of its own; every account may do that.",
        "sender": "Sends records, and no more: for collectors.",
        "editor": "Edits models, sends records, starts computations and proposes plans.",
        "approver": "Approves and rejects plans.",
        "operator": "Carries plans out.",
        "admin": "Manages people, agents and policies.",
    },
    # Recomputation and studies
    "SubjectEnum": {kind: f"{title}." for kind, title in schedulable_choices()},
    "ThenEnum": {
        "none": "Only compute.",
        "draft": "Make a draft of a plan.",
        "submit": "Make a plan and send it for review.",
        "execute": "Make a plan, and let the policy decide whether Weir carries it out by itself; "
        "otherwise send it for review.",
    },
    "TriggerKindEnum": {
        "capacity_change": "Capacities in the model changed.",
        "population_change": "Populations in the model changed.",
        "demand_change": "What publishers or consumers want changed.",
        "slo_breach": "Service-level objectives are missed.",
        "budget_burn": "An objective burns its error budget, as a share of the rate of an alert.",
        "load_drift": "Measured load left the model's.",
        "broker_overload": "A broker is near or above its capacity.",
        "machine_load": "A broker's CPU or storage is near its limit, as measured.",
        "routing_drift": "Routing costs moved since the last evaluation.",
        "filtering_drift": "Filtering costs more than the last mapping came to, as measured.",
    },
}


def describe_values(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Add to every fixed set what its values mean, and let filters refer to it."""
    components = result.get("components", {}).get("schemas", {})
    by_values: dict[frozenset[str], list[str]] = {}
    for name, component in components.items():
        if name in MEANINGS:
            by_values.setdefault(frozenset(component["enum"]), []).append(name)
            component["description"] = _text(name)
    for operations in result.get("paths", {}).values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                _refer(parameter, by_values)
    return result


def _text(name: str) -> str:
    lines = [f"- `{value}`: {meaning}" for value, meaning in MEANINGS[name].items()]
    text = "\n".join(lines)
    if name in MACHINES:
        final = ", ".join(f"`{state}`" for state in sorted(MACHINES[name].ended)) or "none"
        text += f"\n\nFinal, for nothing follows: {final}."
    return text


def _refer(parameter: dict[str, Any], by_values: dict[frozenset[str], list[str]]) -> None:
    schema = parameter["schema"]
    place = schema.get("items", schema)
    same = by_values.get(frozenset(place.get("enum", ())), [])
    if len(same) != 1:
        return
    reference = {"$ref": f"#/components/schemas/{same[0]}"}
    if place is schema:
        parameter["schema"] = reference
    else:
        schema["items"] = reference
