"""Take metrics by the protocols of Prometheus and OpenTelemetry."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.parsers import RawBody, packing_of
from apps.common.api.preconditions import repeatable
from apps.records.api.serializers import ExportedSerializer, MetricsQuery
from apps.records.models import RecordBatch
from apps.records.selectors import problems_of
from apps.records.services import metrics_receive
from apps.runs.services.gateway import metric_protocols

PROTOBUF, JSON = "application/x-protobuf", "application/json"
REASONS_SHOWN = 5


class WriteRequestBody(RawBody):
    """A request of Prometheus' remote-write."""

    media_type = PROTOBUF
    packings = ("snappy",)


class ExportBody(RawBody):
    """An export of OTLP, in binary."""

    media_type = PROTOBUF
    packings = ("gzip",)


class ExportJson(RawBody):
    """An export of OTLP, in JSON."""

    media_type = JSON
    packings = ("gzip",)


class ProtobufAnswer(BaseRenderer):
    """Encode what OTLP answers to an export in binary, refusals too."""

    media_type = PROTOBUF
    format = "protobuf"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        response = (renderer_context or {})["response"]
        if response.status_code >= 400:
            encoded: bytes = metric_protocols().refusal(data["detail"])
        else:
            encoded = metric_protocols().export_answer(data)
        return encoded


def _batch(request: Request, media_type: str) -> RecordBatch | None:
    """Take the metrics of a request. Raises ValidationError, ApplicationError."""
    query = MetricsQuery(data=request.query_params.dict())
    query.is_valid(raise_exception=True)
    body: Any = request.data
    if not isinstance(body, bytes):
        # The framework reads no body whose length is 0 or was not sent.
        if request.headers.get("Content-Length") != "0":
            raise serializers.ValidationError("Send the `Content-Length` of the body.")
        body = b""
    return metrics_receive(
        system=query.validated_data["system"],
        body=body,
        media_type=media_type,
        packing=packing_of(request) if body else "",
        actor=actor_of(request),
    )


class PrometheusView(APIView):
    """Take what Prometheus writes."""

    parser_classes = (WriteRequestBody,)
    needs: ClassVar[dict[str, Permission]] = {"post": Permission.SEND_RECORDS}
    refuses: ClassVar[dict[str, tuple[int, ...]]] = {"post": (409,)}

    @extend_schema(
        operation_id="record_batches_prometheus",
        parameters=[MetricsQuery],
        request={PROTOBUF: OpenApiTypes.BINARY},
        responses={204: None},
    )
    @repeatable()
    def post(self, request: Request) -> Response:
        """Take metrics by Prometheus' remote-write 1.0, as a batch of `samples`.

        The body is a `WriteRequest`, packed by Snappy (`Content-Encoding: snappy`, without frames),
        of at most 32 MiB once it is unpacked and 100,000 samples. What they become says
        `docs/formats.md`, *Metrics of Prometheus and OpenTelemetry*; samples that do not fit are
        set aside, and the request is taken all the same. What is sent again counts once.
        """
        if _message(request) not in ("", "prometheus.WriteRequest"):
            message = "Send remote-write 1.0, whose message is `prometheus.WriteRequest`."
            raise UnsupportedMediaType(request.content_type or "", detail=message)
        if packing_of(request) != "snappy":
            message = "Pack the body by Snappy: `Content-Encoding: snappy`."
            raise UnsupportedMediaType(request.content_type or "", detail=message)
        _batch(request, metric_protocols().PROMETHEUS)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _message(request: Request) -> str:
    """Return the message that a content type names; empty where it names none."""
    for part in (request.content_type or "").split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "proto":
            return value.strip().strip('"')
    return ""


class OtlpMetricsView(APIView):
    """Take what OpenTelemetry exports."""

    parser_classes = (ExportBody, ExportJson)
    needs: ClassVar[dict[str, Permission]] = {"post": Permission.SEND_RECORDS}
    refuses: ClassVar[dict[str, tuple[int, ...]]] = {"post": (409,)}

    def get_renderers(self) -> list[Any]:
        """Answer in the encoding of the request, as OTLP wants it, unless `Accept` is for JSON."""
        binary = [ProtobufAnswer()] if self.request and _is_binary(self.request) else []
        return [*binary, JSONRenderer()]

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        """Name the encoding of what is answered in binary: of refusals, which are no problem
        documents there, and of the message without members, which is no bytes."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(answer.accepted_renderer, ProtobufAnswer):
            answer.content_type = PROTOBUF
            answer.add_post_render_callback(_name_encoding)
        return answer

    @extend_schema(
        operation_id="record_batches_otlp_metrics",
        parameters=[MetricsQuery],
        request={PROTOBUF: OpenApiTypes.BINARY, JSON: OpenApiTypes.OBJECT},
        responses={(200, JSON): ExportedSerializer, (200, PROTOBUF): OpenApiTypes.BINARY},
    )
    @repeatable()
    def post(self, request: Request) -> Response:
        """Take metrics by OTLP/HTTP, as a batch of `samples`.

        The body is an `ExportMetricsServiceRequest` in binary or JSON, as it is or packed by gzip,
        of at most 32 MiB once it is unpacked and 100,000 points. What they become says
        `docs/formats.md`, *Metrics of Prometheus and OpenTelemetry*; points that do not fit are set
        aside, the request is taken all the same, and `partial_success` counts them with their
        reasons. What is sent again counts once. Answers are in the encoding of the request; a
        refusal in binary is a `Status`.
        """
        protocols = metric_protocols()
        media_type = protocols.OTLP if _is_binary(request) else protocols.OTLP_JSON
        batch = _batch(request, media_type)
        return Response({} if batch is None else _exported(batch))


def _name_encoding(answer: Response) -> None:
    answer.headers.setdefault("Content-Type", PROTOBUF)


def _is_binary(request: Request) -> bool:
    return (request.content_type or "").partition(";")[0].strip().lower() == PROTOBUF


def _exported(batch: RecordBatch) -> dict[str, Any]:
    """Return what became of an export, as OTLP writes it in JSON."""
    problems = problems_of(batch)
    if not problems:
        return {}
    reasons = [f"{rows:,} points: {problem}" for problem, rows in problems[:REASONS_SHOWN]]
    if len(problems) > REASONS_SHOWN:
        reasons.append(f"{len(problems) - REASONS_SHOWN:,} other reasons")
    total = sum(rows for _, rows in problems)
    words = "; ".join(reasons)
    message = f"Set aside, until somebody decides on the page Records: {words}."
    return {"partialSuccess": {"rejectedDataPoints": str(total), "errorMessage": message}}
