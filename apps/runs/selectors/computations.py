"""List the kinds of computation: each app registers its own, and this one knows none of them.

An `AppConfig` names its kinds, as `computations = ("apps.<app>.services.computation.<RECORD>",)`.
docs/computations.md says what a new kind needs.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.apps import apps
from django.utils.module_loading import import_string

from apps.common.errors import ApplicationError
from apps.demand.models import DemandEstimate
from apps.runs.models import Computed, Run, Snapshot
from apps.systems.models import System
from weir.lifecycle.runs import RunState

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Hold what one run is asked."""

    payload: bytes | Snapshot
    """The canonical bytes to freeze, or a snapshot that is frozen already."""
    method: str
    demand: DemandEstimate | None = None
    """The estimate of demand that the payload shows."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit_s: float | None = None
    starts_from: Run | None = None
    """The run whose result is the start."""
    note: str = ""
    """Why it is asked; the history of the run begins with it."""
    row: Mapping[str, Any] | None = None
    """The columns of the row that waits for the answer, besides system, number, run and author;
    None where the answer makes the row."""
    audited: Mapping[str, Any] | None = None
    """What the audit records of that row's creation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Hold the answer of a run, once it belongs to its snapshot and is stored."""

    payload: bytes
    """The bytes with which a rerun is compared."""
    kernel_version: str
    progress: Mapping[str, Any] = field(default_factory=dict)
    infeasible_because: str = ""
    """A sentence where nothing fits; then no row is stored."""
    row: Computed | None = None
    """The stored row that the run computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Hold what a schedule or trigger asks for."""

    method: str
    """The method; empty means the installation's."""
    time_limit_s: float | None
    note: str
    """The reason, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A value that a trigger watches, as it is now; None where it is not known."""

    value: float | None
    detail: str
    """The value in a sentence, or the reason why it is not known."""


def _nothing(run: Run, row: Any) -> dict[str, Any]:
    return {}


def _no_methods() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """Describe one kind of computation, as its app registers it.

    `row_first`: the row exists before its answer and belongs to its latest run. Else each
    run that finds something makes a row of its own.
    """

    kind: str
    title: str
    """The title for people: `Rates and admitted consumers`."""
    noun: str
    """The word for one of them: `tally`."""
    address: str
    """The address of the rows, such as `/api/v1/tallies`; each is at `{address}/{id}`."""
    kernel: str = ""
    """A module with `answer(payload, call)`, as `weir.kernel` describes it: one task calls it."""
    job: str = ""
    """A module of `spark_tasks.jobs`, or one elsewhere by its full name, for what takes more than
    one call. A kind names either a kernel or a job."""
    model: type[Any]
    """The kind's own subclass of `Computed`."""
    row_first: bool = False
    snapshot_type: str = JSON
    """The media type of what is frozen."""
    freeze: Callable[..., Question]
    """`freeze(system, **asked)` is called with the system locked and returns what to ask of the
    run. Raises ApplicationError."""
    store: Callable[[Run, Any, bytes], Answer]
    """`store(run, row, answer)` is called in the transaction that ends the run: it checks that
    the answer belongs to the snapshot, and stores it as rows. `row` is None where there is none
    before."""
    explain_infeasible: Callable[[Run], Mapping[str, Any] | None] | None = None
    """`explain_infeasible(run)` returns why nothing was feasible, for the page of the run."""
    explained_as: str = ""
    """The path of the serializer that describes what `explain_infeasible` returns."""
    baseline: bool = False
    """Whether its snapshots are the system's problem, and triggers count changes of the model from
    its last run."""
    watched: Mapping[str, Callable[[System], Reading]] = field(default_factory=dict)
    """Kinds of triggers whose value its app reads -> a function that returns the value of now."""
    job_inputs: Callable[[Run, Any], Mapping[str, Any]] = _nothing
    """`job_inputs(run, row)` returns what the job needs besides its snapshot. May raise
    JobFailed."""
    clear: Callable[[Any], None] | None = None
    """`clear(row)` deletes the results of the last run, because the row is computed again."""
    news: Callable[[Any], Mapping[str, Any]] | None = None
    """`news(row)` returns what browsers are sent when it changes; its id and system are added."""
    topic: str
    """The topic of these events."""
    audited_as: str = ""
    """The kind of object in the audit record; empty where the run's own entries are enough."""
    named: Callable[[Any], str] = str
    """A function that returns the audit record's name of a row."""
    describe: Callable[[Any], str]
    """`describe(row)` describes the result in a sentence."""
    methods: Callable[[], Mapping[str, Any]] = _no_methods
    """A function that returns every method by its name, each with TITLE and SUMMARY."""
    find_method: Callable[[str], object] | None = None
    """A function that returns the method of this name. Raises UnknownMethod."""
    again: Callable[[Again], Mapping[str, Any]] | None = None
    """A function that returns the arguments of `freeze` when a schedule or trigger asks; None where
    they cannot."""
    plan: Callable[..., Any] | None = None
    """`plan(row, actor=, answerable=, least_benefit=, asked_by=)` makes a plan of the result.
    Raises Conflict. None where no plan can be made of it."""
    plan_again: str = "Compute it again and make a new plan."
    """The sentence that says what to do where a plan no longer fits the model."""
    weighs_benefit: bool = False
    """Whether `plan` weighs the result's net benefit against `least_benefit`."""

    def __post_init__(self) -> None:
        if bool(self.kernel) == bool(self.job):
            raise ValueError(f"{self.kind}: name either a kernel or a job of spark_tasks")

    @property
    def schedulable(self) -> bool:
        """Return whether a schedule or trigger can ask for it."""
        return self.again is not None

    @property
    def plannable(self) -> bool:
        """Return whether a plan can be made of its result."""
        return self.plan is not None

    @property
    def path(self) -> str:
        """Return the name under which a run has its row."""
        return str(self.model._meta.get_field("run").remote_field.related_name)


@cache
def computations() -> Mapping[str, Computation]:
    """Return every kind that is installed, by its name, in the order of the installed apps."""
    kinds: dict[str, Computation] = {}
    for config in apps.get_app_configs():
        names: Iterable[str] = getattr(config, "computations", ())
        for name in names:
            one = import_string(name)
            if one.kind in kinds:
                raise ValueError(f"{name}: another app computes {one.kind!r} already")
            kinds[one.kind] = one
    return kinds


def computation_of(kind: str) -> Computation:
    """Return the registration of this kind. Raises ApplicationError."""
    known = computations()
    if kind not in known:
        raise ApplicationError(
            "unknown_kind",
            f'This installation computes no "{kind}"; it knows {", ".join(known)}.',
            status=409,
        )
    return known[kind]


def snapshot_type(run: Run) -> str:
    """Return the media type of what this run was asked."""
    one = computations().get(run.kind)
    return JSON if one is None else one.snapshot_type


def kind_choices() -> list[tuple[str, str]]:
    """Return the kinds with their titles, as the choices of a field."""
    return [(one.kind, one.title) for one in computations().values()]


def schedulable_choices() -> list[tuple[str, str]]:
    """Return the kinds that a schedule or trigger can ask for, as the choices of a field."""
    return [(one.kind, one.title) for one in computations().values() if one.schedulable]


def computed_of(run: Run) -> Computed | None:
    """Return the row that this run is the latest run of, or that it has left; None where there is
    none."""
    one = computations().get(run.kind)
    row: Computed | None = None if one is None else getattr(run, one.path, None)
    return row


def run_explanation(run: Run) -> Mapping[str, Any] | None:
    """Return why nothing was feasible, as its kind explains it; None for any other run."""
    one = computations().get(run.kind)
    if run.state != RunState.INFEASIBLE or one is None or one.explain_infeasible is None:
        return None
    return one.explain_infeasible(run)
