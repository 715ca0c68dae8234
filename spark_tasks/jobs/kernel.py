"""Call one kernel with one payload inside one Spark task (the shape `kernel`).

The order names the kernel: a module with `answer(payload, call)`, as `weir.kernel` describes it. A
kind of computation of this shape needs no file here.
"""

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from spark_tasks.one_task import answer_in_task
from spark_tasks.order import JobOrder
from spark_tasks.progress import Reporter
from weir.errors import WeirError
from weir.kernel import Call

Answer = Callable[[bytes, Call], bytes]


def build(spark: Any, input_uri: str, output_uri: str, order: JobOrder) -> None:
    """Read the snapshot, call the kernel in a task, write the answer."""
    answer = answer_of(order.kernel)
    answer_in_task(spark, input_uri, output_uri, partial(call_kernel, answer, order=order))


def answer_of(kernel: str) -> Answer:
    """Return the function of a kernel by the name of its module."""
    answer: Answer = import_module(kernel).answer
    return answer


def call_kernel(answer: Answer, payload: bytes, order: JobOrder) -> tuple[bytes | None, str | None]:
    """Return the kernel's answer to one snapshot, or the sentence with which it refused it."""
    limit_s = order.time_limit_s
    begin_s = time.monotonic()

    def elapsed_s() -> float:
        return time.monotonic() - begin_s

    with Reporter(order.progress_url, order.progress_token) as reporter:

        def stop() -> bool:
            return reporter.told_to_stop or (limit_s is not None and elapsed_s() >= limit_s)

        call = Call(
            method=order.method,
            parameters=order.parameters,
            seed=order.seed,
            inputs=order.inputs,
            stop=stop,
            elapsed_s=elapsed_s,
            report=lambda progress: reporter.offer(dict(progress)),
        )
        try:
            return answer(payload, call), None
        except WeirError as error:
            return None, str(error)
