"""Say what each group of operations in the published schema is about; kinds of computation add
their own."""

from collections.abc import Iterable

from config.api_documentation import documented

_TAGS: dict[str, str] = {
    "agents": "The program beside each broker: credentials, whether it answers, what it observes.",
    "audit": "Who did what, when and why; entries are only added.",
    "brokers": "Brokers of a system with their capacities.",
    "computations": "Kinds of computation, with their methods.",
    "consumer-classes": "Consumers of one topic at one broker that are worth the same.",
    "correlation-keys": "What makes publishers send at the same time.",
    "executions": "Plans that are carried out: progress, pause, stop, roll back.",
    "flow-status": "Approved, controlled and measured rates of flows, now.",
    "groups": "Channels that carry several streams.",
    "interest-imports": "Interests of many subscribers, imported in the background.",
    "interests": "All interests of a system, as a table.",
    "links": "Links between brokers with their capacities and latencies.",
    "model-state": "What is in force at the brokers against what the model says.",
    "overlays": "Trees of links: the one in force, and goals.",
    "overview": "Every system at a glance.",
    "plans": "What shall change and why: review, approval, execution.",
    "policies": "What a system asks of its plans: approvals, windows, bands.",
    "processes": "Whether the processes answer that runs wait for.",
    "publishers": "Who sends to a topic, where, and how much.",
    "recomputation": "Schedules and triggers that compute again, each time that one fired, and "
    "what Weir carries out by itself.",
    "runs": "Computations of every kind: state, progress, history, results.",
    "session": "Sign in and out, and what the caller may do.",
    "slos": "Service-level objectives of topics.",
    "streams": "Sequences of messages that topics are sent in.",
    "subscribers": "Single subscribers with their interests.",
    "systems": "Managed messaging systems, and what concerns one as a whole.",
    "telemetry": "What agents measure: now, lately, and what was lost.",
    "tokens": "Tokens by which programs call the API.",
    "topics": "Topics with their rates and costs.",
    "users": "People with accounts, and their roles.",
    "utility-curves": "The drawing of a utility function while it is edited.",
    "utility-functions": "What a rate is worth to a consumer.",
    "utility-kinds": "Kinds of utility functions, with their parameters.",
}


def tags_of(app_names: Iterable[str]) -> list[dict[str, str]]:
    """Return the description of every group, those of these apps included, by name."""
    every = {**_TAGS, **documented(app_names, "TAGS")}
    return [{"name": name, "description": text} for name, text in sorted(every.items())]
