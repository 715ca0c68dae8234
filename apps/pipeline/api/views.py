"""Serve sums of records as series over time, and what there is to choose among them."""

import csv
import io
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.renderers import CsvRenderer
from apps.common.csv_text import guarded
from apps.pipeline.api.serializers import (
    RecordMetricsSerializer,
    RecordSumsQuery,
    RecordSumsSerializer,
    TimeQuery,
    moment,
)
from apps.pipeline.domain.quantities import QUANTITIES, metric_unit
from apps.pipeline.selectors.choices import minutes_of, names_of
from apps.pipeline.selectors.series import series_of

FORMAT = OpenApiParameter(
    "format",
    OpenApiTypes.STR,
    enum=["json", "csv"],
    description="`json`, or `csv`: as `Accept: text/csv` does.",
)


class RecordSumsView(APIView):
    """Show what was published, received, requested and measured over a time."""

    renderer_classes = (JSONRenderer, CsvRenderer)

    @extend_schema(
        operation_id="record_sums_retrieve",
        parameters=[RecordSumsQuery, FORMAT],
        responses={
            (200, "application/json"): RecordSumsSerializer,
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "One line a series and step."),
        },
    )
    def get(self, request: Request) -> Response | HttpResponse:
        """Return a quantity as series over steps of time, one a topic, class or broker.

        Percentiles are of all delays of a step together, too long by 4.5 % at most; a mean is of
        all samples of a step. The 12 largest series come. CSV has the same in the columns `since`,
        `minutes`, `name`, `value`, `least` and `most`; a name that a spreadsheet would take for a
        formula has a `'` in front.
        """
        form = RecordSumsQuery(data=_without_format(request))
        form.is_valid(raise_exception=True)
        values = form.validated_data
        quantity, span = QUANTITIES[values["quantity"]], values["span"]
        answer = series_of(
            values["system"], quantity, by=values["by"], span=span, only=values["only"]
        )
        body = RecordSumsSerializer(
            {
                "quantity": values["quantity"],
                "unit": quantity.unit or metric_unit(values["metric"]),
                "by": values["by"],
                "step_s": span.step_s,
                "since": moment(span.since_s),
                "until": moment(span.until_s),
                "steps": [moment(start_s) for start_s in span.starts_s],
                "minutes": answer.minutes,
                "series": answer.series,
                "left_out": answer.left_out,
            }
        ).data
        if isinstance(request.accepted_renderer, CsvRenderer):
            return _csv(body)
        return Response(body)


class RecordMetricsView(APIView):
    """Say what there is to choose among sums of records."""

    @extend_schema(
        operation_id="record_metrics_retrieve",
        parameters=[TimeQuery],
        responses=RecordMetricsSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the topics, classes, brokers, kinds of delays and metrics of a time; at most 1,000
        of each."""
        form = TimeQuery(data=request.query_params.dict())
        form.is_valid(raise_exception=True)
        system, span = form.validated_data["system"], form.validated_data["span"]
        names, ends = names_of(system, span), minutes_of(system)
        body = {
            "since": moment(span.since_s),
            "until": moment(span.until_s),
            "first": None if ends is None else moment(ends[0]),
            "last": None if ends is None else moment(ends[1]),
            "topics": names["topic"],
            "consumer_classes": names["consumer_class"],
            "brokers": names["broker"],
            "kinds": names["kind"].names,
            "metrics": [
                {"name": name, "unit": metric_unit(name)} for name in names["metric"].names
            ],
            "metrics_left_out": names["metric"].left_out,
        }
        return Response(RecordMetricsSerializer(body).data)


def _without_format(request: Request) -> dict[str, Any]:
    """Return the query without the parameter that the framework has read."""
    return {name: value for name, value in request.query_params.items() if name != "format"}


def _csv(body: Mapping[str, Any]) -> HttpResponse:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["since", "minutes", "name", "value", "least", "most"])
    for series in body["series"]:
        empty = [None] * len(series["values"])
        cells = zip(
            body["steps"],
            body["minutes"],
            series["values"],
            series["least"] or empty,
            series["most"] or empty,
            strict=True,
        )
        name = guarded(series["name"])
        writer.writerows([since, minutes, name, *values] for since, minutes, *values in cells)
    answer = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{body["quantity"]}.csv"'
    return answer
