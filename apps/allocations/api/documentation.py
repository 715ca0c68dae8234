"""Say what the published API needs to know about allocations."""

from apps.common.api.examples import LOG, SYSTEM, UTILITY, Example
from apps.runs.api.documentation import RERUN

RESULT = {
    "optimal": "Proven to be the best.",
    "solved": "The method ended by itself; a better answer is not ruled out.",
    "not_converged": "The method's own limit came first: the best that it has.",
    "time_limit": "The time limit came first: the best until then.",
    "infeasible": "Nothing is feasible; the reason stands beside it.",
}
NODE_OR_LINK = {"node": "A broker.", "link": "A link between brokers."}

PROBLEM: Example = {
    "resources": ["cpu"],
    "nodes": [{"id": "S0", "capacity": {"cpu": 900000}}],
    "links": [],
    "flows": [
        {
            "id": "f0",
            "rate_min": 10,
            "rate_max": 1000,
            "node_costs": {"S0": {"cpu": 3}},
            "link_costs": {},
        }
    ],
    "classes": [
        {
            "id": "c0",
            "flow": "f0",
            "node": "S0",
            "population_max": 400,
            "costs": {"cpu": 19},
            "utility": {"kind": "log", "weight": 20},
        }
    ],
}
TAGS = {
    "allocations": "Rates and admitted consumers: ask for them, compare them, make plans of them.",
    "optimizers": "Methods that compute rates and populations, with their parameters.",
}

ENUM_NAMES = {
    "QuantityKindEnum": "apps.allocations.selectors.against.KINDS",
    "AllocationCommandEnum": "apps.allocations.api.serializers.ALLOCATION_COMMANDS",
    "AllocationStatusEnum": "apps.allocations.api.serializers.STATUSES",
    "ResourceLoadPlaceEnum": "apps.allocations.models.Place.choices",
    "VerdictEnum": "apps.allocations.api.insight.VERDICTS",
}

MEANINGS = {
    "RelaxationKindEnum": {
        "capacities": "Raise capacities until everything fits.",
        "all_rates": "Lower every minimum rate by one factor.",
        "few_rates": "Lower few minimum rates, and as little as possible in all.",
    },
    "RelaxedNumberKindEnum": {
        **NODE_OR_LINK,
        "flow": "A topic's flow; its minimum rate.",
    },
    "ShortageKindEnum": NODE_OR_LINK,
    "AllocationCommandEnum": {
        **RERUN,
        "compare": "Run other methods on the same snapshot.",
        "plan": "Make a plan that brings it into force.",
    },
    "AllocationStatusEnum": RESULT,
    "ResourceLoadPlaceEnum": NODE_OR_LINK,
    "WhatEnum": {
        **NODE_OR_LINK,
        "flow": "The flow of a topic.",
        "class": "A consumer class.",
    },
    "QuantityKindEnum": {
        "rate": "The rate of a flow, msg/s.",
        "admitted": "Admitted consumers of a class.",
        "node_price": "Utility per unit of a broker's resource.",
        "link_price": "Utility per unit of a link's capacity.",
    },
    "VerdictEnum": {
        "nobody": "Nobody of the class wants to join.",
        "worthless": "One consumer adds nothing at this rate.",
        "free": "Nothing that it takes is scarce, and all are in.",
        "pays": "One brings more than it costs, and all are in.",
        "margin": "One brings what it costs: the room decides how many are in.",
        "costs_more": "One costs more than it brings, and none is in.",
        "against_prices": "The number admitted is not the one that these prices ask for.",
    },
    "LeverEnum": {
        "worth": "Raise the worth of the class.",
        "rate": "Change the rate of its flow.",
        "capacity": "Add capacity at its broker.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /systems/{id}/preview": {"utilities": {UTILITY: LOG}},
    "POST /allocations": {"system": SYSTEM, "method": "certified", "time_limit_s": 30},
    "POST /allocations/solve": {"problem": PROBLEM, "method": "lrgp", "seed": 0},
    "POST /allocations/{id}/compare": {"methods": ["lrgp", "greedy"]},
    "POST /allocations/{id}/trials": {"consumer_class": "desk-traders"},
    "POST /allocations/{id}/plan": {"title": "Room for the new desk"},
}
