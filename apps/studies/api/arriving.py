"""The address to which a running job posts its points: tokened, for machines only."""

import json
from typing import Any

from django.core import signing
from django.db import DataError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from apps.studies.services import study_points_arrived


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number that a point may have")


@csrf_exempt
@require_POST
def report_points(request: HttpRequest) -> JsonResponse:
    """Some points of one attempt of one run; the token names both and nothing else."""
    _, _, token = request.headers.get("Authorization", "").partition(" ")
    try:
        body = json.loads(request.body, parse_constant=_no_number)
        rows = body["points"]
        if not isinstance(rows, list):
            raise TypeError("points must be a list")
        return JsonResponse({"continue": study_points_arrived(token=token, rows=rows)})
    except signing.BadSignature:
        return JsonResponse({"code": "bad_token"}, status=403)
    except (ValueError, KeyError, TypeError, OverflowError, DataError):
        return JsonResponse({"code": "invalid"}, status=400)
