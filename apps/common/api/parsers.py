"""Read the bodies of requests."""

import hashlib
import re
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any, ClassVar

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError, UnsupportedMediaType, ValidationError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.renderers import JSONRenderer

from apps.common.errors import ApplicationError
from apps.common.json_reader import UnreadableJson, read_json

CHARSET = re.compile(r"charset=\"?([\w.:-]+)", re.IGNORECASE)


class KeptBody(JSONParser):
    """Base of all parsers: idempotency keys are bound to the bytes of the body.

    The framework keeps them for a JSONParser alone. With a session it reads the body before a view
    runs: its check against forged requests looks for a token in there.
    """

    renderer_class = JSONRenderer

    def raw(self, stream: IO[Any]) -> bytes:
        """Return the bytes. Raises RequestDataTooBig."""
        most: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw: bytes = stream.read(most + 1)
        if len(raw) > most:
            raise RequestDataTooBig
        return raw


class JsonBody(KeptBody):
    """Read JSON with the one reader; a body that is too large is rejected while it is read."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return read_json(self.raw(stream))
        except UnreadableJson as error:
            if error.path:
                raise ValidationError({error.path: error.message}) from error
            raise ParseError(error.message) from error


class RawBody(KeptBody):
    """Hand a body on as it is; its view reads it."""

    packings: ClassVar[tuple[str, ...]] = ()
    """How it may be compressed; `packing_of` says how one is."""

    def parse(  # type: ignore[override]
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the bytes. Raises RequestDataTooBig, UnsupportedMediaType."""
        _refuse_charset(media_type)
        request = (parser_context or {}).get("request")
        packing = packing_of(request) if request is not None else ""
        if packing not in ("", *self.packings):
            ways = " or ".join(["as it is", *(f"as {one}" for one in self.packings)])
            raise UnsupportedMediaType(packing, detail=f"Send the body {ways}, not as {packing}.")
        return self.raw(stream)


def packing_of(request: Any) -> str:
    """Return how the body of a request is compressed; empty where it is not."""
    coding: str = request.headers.get("Content-Encoding", "").strip().lower()
    return "" if coding == "identity" else coding


class CsvBody(KeptBody):
    """Read a table as text; which columns there are, its view knows."""

    media_type = "text/csv"

    def parse(  # type: ignore[override]
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the text. Raises ValidationError that names the encoding to use."""
        raw = self.raw(stream)
        _refuse_charset(media_type)
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValidationError("This is UTF-16. Save it as UTF-8 (CSV UTF-8).")
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise ValidationError(
                f"This is not UTF-8: line {line} holds the byte 0x{raw[error.start]:02X}. "
                "Save it as UTF-8 (CSV UTF-8)."
            ) from error
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise ValidationError(f"Line {line} holds a null character: this is no text.")
        return text


def _refuse_charset(media_type: str | None) -> None:
    charset = CHARSET.search(media_type or "")
    if charset and charset[1].lower() not in ("utf-8", "utf8"):
        raise ValidationError(f"Send UTF-8, not {charset[1]}.")


PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedBody:
    """A body that is too large to be held in memory: compressed by zlib, in a file on disk."""

    file: IO[bytes]
    media_type: str
    size_bytes: int
    sha256: str
    line_ends: int
    braces: int

    def pieces(self) -> Iterator[bytes]:
        """Return the compressed bytes, a mebibyte at a time."""
        self.file.seek(0)
        while piece := self.file.read(PIECE_BYTES):
            yield piece


class PackingParser(BaseParser):
    """Compress a large body while it is read; what it holds is read later, in pieces."""

    def parse(  # type: ignore[override]
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> PackedBody:
        """Return the body, compressed. Raises ApplicationError where it is too large."""
        _refuse_charset(media_type)
        most: int = settings.WEIR_LARGEST_IMPORT_BYTES
        packer, digest = zlib.compressobj(level=1), hashlib.sha256()
        size, line_ends, braces = 0, 0, 0
        with ExitStack() as stack:
            packed = stack.enter_context(tempfile.TemporaryFile())
            while piece := stream.read(PIECE_BYTES):
                size += len(piece)
                if size > most:
                    raise ApplicationError(
                        "too_large",
                        f"An import takes at most {most // 1024**2} MiB; split the file.",
                        status=413,
                    )
                line_ends += piece.count(b"\n")
                braces += piece.count(b"{")
                digest.update(piece)
                packed.write(packer.compress(piece))
            packed.write(packer.flush())
            # The caller closes it.
            stack.pop_all()
        return PackedBody(
            file=packed,
            media_type=self.media_type,
            size_bytes=size,
            sha256=digest.hexdigest(),
            line_ends=line_ends,
            braces=braces,
        )


class PackedCsv(PackingParser):
    """Compress a table of text."""

    media_type = "text/csv"


class PackedJson(PackingParser):
    """Compress a document of JSON."""

    media_type = "application/json"
