"""The published schema, as the file that clients are made from; `make check-python` holds it
against the code, which takes seconds to describe itself."""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "frontend" / "openapi.json"
SCHEMA: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
