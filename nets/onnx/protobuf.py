"""A look at the wire format of a protobuf message before it is parsed.

Parsing makes an object of every field, and a field may be as short as two bytes: a file within its size limit could
fill the memory. (https://protobuf.dev/programming-guides/encoding)
"""

from __future__ import annotations

from typing import Any

MOST_FIELDS = 1_000_000
"""Fields of all messages together. A network of a thousand layers has about 50,000."""
MOST_VARINTS = 1 << 24
"""Bytes of packed numbers of variable length: they take eight times that, parsed."""
DEEPEST = 12

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
VARIABLE_TYPES = {3, 4, 5, 8, 13, 14, 17, 18}
"""Field types, as descriptors number them, whose numbers are of variable length."""


class ProtobufError(ValueError):
    """A message that is damaged or too finely divided."""


def check_fields(content: bytes, descriptor: Any) -> None:
    """Refuse a message that is damaged or that would take much more memory than its bytes. `descriptor`: its type's.
    Raises ProtobufError."""
    fields = varints = 0
    todo = [(0, len(content), descriptor, 0)]
    while todo:
        at, end, message, depth = todo.pop()
        if depth > DEEPEST:
            raise ProtobufError("nested too deeply")
        known = message.fields_by_number
        while at < end:
            fields += 1
            if fields > MOST_FIELDS:
                raise ProtobufError("too many fields")
            tag, at = _varint(content, at, end)
            number, wire = tag >> 3, tag & 7
            if wire == VARINT:
                _, at = _varint(content, at, end)
            elif wire in (FIXED64, FIXED32):
                at += 8 if wire == FIXED64 else 4
            elif wire == LENGTH:
                length, at = _varint(content, at, end)
                field = known.get(number)
                if field is not None and field.message_type is not None:
                    todo.append((at, at + length, field.message_type, depth + 1))
                elif field is not None and field.type in VARIABLE_TYPES:
                    varints += length
                at += length
            else:
                raise ProtobufError("an unknown kind of field")
            if at > end:
                raise ProtobufError("ends early")
    if varints > MOST_VARINTS:
        raise ProtobufError("too many numbers of variable length")


def _varint(content: bytes, at: int, end: int) -> tuple[int, int]:
    """A number and where it ends."""
    value = shift = 0
    while at < end and shift < 70:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ProtobufError("ends early")
