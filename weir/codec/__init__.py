"""Problem and Result as plain dicts and JSON bytes: the only parser of the file format.

`problem_from_json` refuses what does not fit with one InvalidProblem that names entry and
field. `canonical_bytes` and `content_hash` do not depend on the order of the input.
"""

from weir.codec.canonical import canonical_bytes, content_hash, problem_to_dict
from weir.codec.json_text import object_from_json
from weir.codec.problem import problem_from_dict, problem_from_json
from weir.codec.result import (
    result_from_dict,
    result_to_dict,
    result_to_json,
    result_to_record,
)
from weir.codec.start import start_from_dict, start_of, start_to_dict

__all__ = [
    "canonical_bytes",
    "content_hash",
    "object_from_json",
    "problem_from_dict",
    "problem_from_json",
    "problem_to_dict",
    "result_from_dict",
    "result_to_dict",
    "result_to_json",
    "result_to_record",
    "start_from_dict",
    "start_of",
    "start_to_dict",
]
