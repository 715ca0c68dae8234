"""Studies of a broker's capacity."""

from apps.accounts.models import User
from apps.runs.models import Run
from spark_tasks.jobs.sweep import answer_of
from tests.factories.kinds import make_world
from tests.factories.studies import make_study, rows_of, sweep_spec


def ask(actor: User) -> Run:
    world = make_world()
    return make_study(world.system, sweep_spec(world.broker.name), actor).run


def answer(run: Run) -> bytes:
    return answer_of(rows_of(run))
