"""Say what the published API needs to know about what Weir carries out by itself."""

ENUM_NAMES = {
    "AutomaticChoiceEnum": "apps.recomputation.models.Choice.choices",
    "AutomaticEndEnum": "apps.recomputation.models.End.choices",
}

MEANINGS = {
    "AutomaticChoiceEnum": {
        "execute": "Weir approves and carries it out.",
        "would_execute": "Weir would have; the policy asks for a dry run.",
        "leave": "People decide, because it is beyond the policy's bounds.",
    },
    "AutomaticEndEnum": {
        "went_well": "It brought what it promised.",
        "unknown": "It cannot be told what it brought; it stays in force.",
        "taken_back": "What it promised did not come, or an error budget burned: Weir took it "
        "back.",
        "given_up": "Weir did not carry it out, or could not take it back; people decide.",
    },
}
