"""Say what the published API needs to know about the inbox."""

TAGS = {"inbox": "What waits for the caller, and what they should know."}

ENUM_NAMES = {"InboxItemKindEnum": "apps.inbox.api.serializers.ITEM_KINDS"}

MEANINGS = {
    "InboxItemKindEnum": {
        "plan_to_review": "A plan that the caller may approve or reject.",
        "plan_to_execute": "An approved plan; it `waits` while its window, its change elsewhere "
        "and other executions of its system allow it.",
        "plan_rejected": "A plan of the caller's was rejected, and no later one replaces it.",
        "plan_stale": "A plan of the caller's no longer fits, and no later one replaces it.",
        "execution_stuck": "A broker does not answer, or brokers contradict each other, and a "
        "person decides what shall be.",
        "execution_paused": "Somebody paused an execution.",
        "execution_held": "An execution waits until its window is open again.",
        "execution_failed": "An execution failed, and nothing was executed in its system since.",
        "database_restored": "A restored database waits until its state is adopted.",
        "agent_silent": "Agents of a system have not been heard for a minute or longer.",
        "messages_lost": "Messages of a system were lost within the last day.",
        "backlog": "What waits of a reliable topic reaches a limit soon.",
        "connection_failing": "A connection does not answer.",
        "changes_refused": "A connection refuses what is sent about changes, or their reading.",
        "webhook_failing": "A receiver of events takes none.",
        "channel_failing": "A channel of a chat did not take its last messages.",
        "slo_burns_fast": "The budget of an objective burns so fast that somebody must look now.",
        "slo_burns": "The budget of an objective burns faster than it lasts.",
        "budget_spent": "More minutes of an objective were missed than it allows.",
    }
}
