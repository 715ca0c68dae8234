"""Create the base workload of the LRGP paper (section 4.1, table 1) as a system."""

from apps.catalog.models import ConsumerClass, Topic, UtilityFunction
from apps.executions.services.adopt_model import model_adopt
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create, one_edit, system_create
from apps.topology.models import Broker

NAME = "Base workload"
NODES = ("S0", "S1", "S2")
# flow, its nodes, population_max, rank; every row stands for one class at each of the two nodes
TABLE_1 = (
    ("f0", ("S0", "S2"), 400, 20),
    ("f0", ("S0", "S2"), 800, 5),
    ("f0", ("S0", "S2"), 2000, 1),
    ("f1", ("S0", "S1"), 1000, 15),
    ("f2", ("S1", "S2"), 1500, 10),
    ("f3", ("S0", "S2"), 400, 30),
    ("f3", ("S0", "S2"), 800, 3),
    ("f3", ("S0", "S2"), 2000, 2),
    ("f4", ("S0", "S1"), 1000, 40),
    ("f5", ("S1", "S2"), 1500, 100),
)
DESCRIPTIONS = {
    "f0": "trades.eu",
    "f1": "quotes.eu",
    "f2": "ticks.iot",
    "f3": "trades.us",
    "f4": "quotes.us",
    "f5": "orders",
}
FLOW_COST, CONSUMER_COST, CAPACITY = 3.0, 19.0, 900_000.0
RATE_MIN_PER_S, RATE_MAX_PER_S = 10.0, 1000.0


def load() -> System:
    """Create the system with everything in it, as one edit."""
    with one_edit():
        system = system_create(
            actor=None,
            values={
                "name": NAME,
                "description": "Six flows, twenty classes, three nodes (LRGP paper, table 1).",
                "product": "simulated",
                "resources": ["cpu"],
            },
        )
        drafts = Drafts(system)
        places = {"S0": (0.2, 0.3), "S1": (0.5, 0.75), "S2": (0.8, 0.3)}
        brokers = {
            name: drafts.add(
                Broker,
                {"capacities": [{"resource": "cpu", "capacity": CAPACITY}]},
                name=name,
                map_x=places[name][0],
                map_y=places[name][1],
            )
            for name in NODES
        }
        topics = {}
        for flow in DESCRIPTIONS:
            nodes = next(row[1] for row in TABLE_1 if row[0] == flow)
            costs = [{"broker": brokers[n], "resource": "cpu", "cost": FLOW_COST} for n in nodes]
            topics[flow] = drafts.add(
                Topic,
                {"node_costs": costs},
                name=flow,
                description=DESCRIPTIONS[flow],
                rate_min_per_s=RATE_MIN_PER_S,
                rate_max_per_s=RATE_MAX_PER_S,
                source=brokers[nodes[0]],
            )
        number = 0
        for flow, nodes, population_max, rank in TABLE_1:
            utility = drafts.add(
                UtilityFunction, name=f"rank-{rank}", kind="log", parameters={"weight": rank}
            )
            for node in nodes:
                drafts.add(
                    ConsumerClass,
                    {"costs": [{"resource": "cpu", "cost": CONSUMER_COST}]},
                    name=f"c{number}",
                    topic=topics[flow],
                    broker=brokers[node],
                    utility=utility,
                    population_max=population_max,
                )
                number += 1
        entities_create(drafts=drafts, actor=None)
    model_adopt(system=system, actor=None, reason="Loaded with the demo.")
    return system
