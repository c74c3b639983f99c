"""Checks an ONNX file before onnxruntime sees it. The file may come from a stranger and be hostile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, defs, helper, numpy_helper

from go_rules.points import MAX_SIZE
from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES, EvaluatorError
from nets.graph.sizes import NUMBERS, REALS, RULES, GraphSizes, ShapeError
from nets.human_profile import META_FEATURES
from nobi_machine.text import printable, shown

FORMAT_KEY, FORMAT = "nobi.format", "1"
"""A model whose metadata has this key and value returns the fields of an `Evaluation`, post-processed."""
NAME_KEY = "nobi.name"
LONGEST_NAME = 100
PRECISION_KEY = "nobi.precision"
PASS_ALIVE_KEY = "nobi.pass_alive_under_suicide"
SAFE_AREA_KEY = "nobi.only_safe_area"

MAX_BYTES = 1 << 30
OPSETS = range(13, 22)
"""21 is the newest that onnxruntime 1.19 runs."""

INPUTS: Mapping[str, tuple[int | None, ...]] = {
    "spatial": (None, SPATIAL_PLANES, None, None),
    "global": (None, GLOBAL_FEATURES),
    "optimism": (None, 1),
    "meta": (None, META_FEATURES),
}
OPTIONAL_INPUTS = {"optimism", "meta"}
OUTPUTS: Mapping[str, tuple[int | None, ...]] = {
    "policy": (None, None),
    "value": (None, 3),
    "score": (None, SCORE_COLUMNS),
    "ownership": (None, None),
}
"""Names and ranks; a number is the only size that dimension may be fixed to."""

OPERATORS = frozenset((*RULES, "Constant"))
"""The operators that our writers use. Every other one is refused, above all control flow, and operators that allocate
memory by a number instead of by their input's size."""
MICROSOFT = frozenset(("MultiHeadAttention", "RotaryEmbedding"))
"""Those of them that are onnxruntime's own."""
DOMAINS = {"": OPSETS, "ai.onnx": OPSETS, "com.microsoft": range(1, 2)}
"""The versions of their operator sets that are accepted."""
NESTED = (AttributeProto.GRAPH, AttributeProto.GRAPHS, AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS)
BEYOND_NUMBERS = {"g", "graphs", "sparse_tensor", "sparse_tensors", "tensors", "tp", "type_protos", "ref_attr_name"}
"""Types and fields of attributes that no network may have."""
MOST_NODES = 20_000
FIELDS = ("float_data", "double_data", "int32_data", "int64_data", "uint64_data", "string_data")
"""Where a tensor may keep its numbers, by their type, instead of in `raw_data`."""


@dataclass(frozen=True)
class NetworkFacts:
    """The facts that a checked model states about itself."""

    name: str
    precision: str
    inputs: frozenset[str]
    """Its inputs, among INPUTS."""
    pass_alive_under_suicide: bool
    """Whether its area features need pass-alive chains that are computed as if suicide were legal."""
    only_safe_area: bool
    """Whether its area features show certain area only, whatever the rules."""
    sizes: GraphSizes
    """Was checked for the largest board, and has to be asked before the first evaluation on any other."""


def check_onnx(content: bytes, source: str) -> NetworkFacts:
    """Check a model and return its facts. `source` is its name in errors. Raises EvaluatorError if the model is
    malformed, of another format or hostile."""
    if len(content) > MAX_BYTES:
        raise EvaluatorError(f"{source}: larger than {MAX_BYTES >> 20} MiB")
    model = ModelProto()
    try:
        check_fields(content, ModelProto.DESCRIPTOR)
        model.ParseFromString(content)
    except Exception:  # the parser's errors have no common type across protobuf's implementations
        raise EvaluatorError(f"{source}: not an ONNX model, or a damaged one") from None
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    try:
        if metadata.get(PRECISION_KEY) == "int8":  # as earlier versions wrote them
            raise _Refused("it is in int8, which is gone: open the file that it was made of")
        _check_structure(model)
        _check_operators(model)
        _check_tensors(model)
        inputs = _check_interface(model)
        sizes = GraphSizes(model)
        sizes.check(MAX_SIZE, MAX_SIZE)
    except (_Refused, ShapeError) as refused:
        raise EvaluatorError(f"{source}: not a usable network: {refused}") from None
    if metadata.get(FORMAT_KEY) != FORMAT:
        raise EvaluatorError(f"{source}: not a network for this engine: its metadata lacks {FORMAT_KEY}={FORMAT}")
    return NetworkFacts(
        name=printable(str(metadata.get(NAME_KEY, "")), LONGEST_NAME) or "unnamed",
        precision="fp16" if metadata.get(PRECISION_KEY) == "fp16" else "fp32",
        inputs=inputs,
        pass_alive_under_suicide=metadata.get(PASS_ALIVE_KEY) == "1",
        only_safe_area=metadata.get(SAFE_AREA_KEY) == "1",
        sizes=sizes,
    )


class _Refused(Exception):
    """Why a model is refused, without the file's name."""


def _check_structure(model: ModelProto) -> None:
    if not model.HasField("graph") or not model.graph.node:
        raise _Refused("it has no graph")
    if model.functions or model.training_info:
        raise _Refused("it has functions or training information")
    if model.graph.sparse_initializer:
        raise _Refused("it has sparse initializers")
    if len(model.graph.node) > MOST_NODES:
        raise _Refused(f"it has more than {MOST_NODES} nodes")
    for opset in model.opset_import:
        if opset.domain not in DOMAINS:
            raise _Refused(f"it needs operators of {shown(opset.domain)}")
        known = DOMAINS[opset.domain]
        if opset.version not in known:
            raise _Refused(f"operator set {opset.version} is not one of {known[0]} to {known[-1]}")
    domains = [opset.domain.replace("ai.onnx", "") for opset in model.opset_import]
    if "" not in domains or len(set(domains)) < len(domains):
        raise _Refused("it does not say, or not clearly, which operator sets it needs")
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        if value.type.WhichOneof("value") not in ("tensor_type", None):
            raise _Refused(f"{shown(value.name)} is no tensor")


def _check_operators(model: ModelProto) -> None:
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    for node in model.graph.node:
        is_known = node.op_type in OPERATORS and node.domain in DOMAINS
        if not is_known or (node.domain == "com.microsoft" and node.op_type not in MICROSOFT):
            raise _Refused(f"operator {shown(node.op_type)} is not supported")
        for attribute in node.attribute:
            if attribute.type in NESTED or any(field.name in BEYOND_NUMBERS for field, _ in attribute.ListFields()):
                raise _Refused("it has an attribute with nested graphs, sparse tensors or types")
        if node.domain != "com.microsoft":
            _check_against_schema(node, opset)


def _check_against_schema(node: NodeProto, opset: int) -> None:
    """Refuse inputs, outputs and attributes that ONNX's operator doesn't have."""
    try:
        schema = defs.get_schema(node.op_type, opset, "")
    except defs.SchemaError:
        raise _Refused(f"operator {node.op_type} is not one of operator set {opset}") from None
    fits = schema.min_input <= len(node.input) <= schema.max_input
    fits = fits and schema.min_output <= len(node.output) <= schema.max_output
    for attribute in node.attribute:
        known = schema.attributes.get(attribute.name)
        fits = fits and known is not None and known.type.value == attribute.type  # type: ignore[attr-defined]
    if not fits:
        raise _Refused(f"{node.op_type} {shown(node.name)} has inputs, outputs or attributes it should not have")


def _check_tensors(model: ModelProto) -> None:
    for tensor in _tensors(model):
        name = shown(tensor.name)
        if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
            raise _Refused(f"tensor {name} lies outside the file")
        if tensor.HasField("segment") or tensor.data_type not in NUMBERS:
            raise _Refused(f"tensor {name} is of an unsupported type")
        _check_tensor_size(tensor, name)
        if tensor.data_type in REALS:
            with np.errstate(over="ignore"):  # a double may be larger than any float: it is not finite as one
                numbers = numpy_helper.to_array(tensor).astype(np.float32)
            if not np.isfinite(numbers).all():
                raise _Refused(f"tensor {name} is not finite")


def _check_tensor_size(tensor: TensorProto, name: str) -> None:
    """The announced shape must be exactly what the file holds: nothing is allocated on a number's word."""
    if any(size < 0 for size in tensor.dims) or len(tensor.dims) > 8:
        raise _Refused(f"tensor {name} has an impossible shape")
    count = math.prod(tensor.dims)
    filled = [field for field in FIELDS if len(getattr(tensor, field))]
    if tensor.HasField("raw_data"):
        wanted = "raw_data"
        held = len(tensor.raw_data) / np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type)).itemsize
    else:
        wanted = helper.tensor_dtype_to_field(tensor.data_type)
        held = len(getattr(tensor, wanted))
    if any(field != wanted for field in filled):
        raise _Refused(f"tensor {name} has numbers where those of another type belong")
    if held != count:
        raise _Refused(f"tensor {name} announces {count} numbers and holds {held:g}")


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    yield from model.graph.initializer
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t


def _check_interface(model: ModelProto) -> frozenset[str]:
    initializers = {tensor.name for tensor in model.graph.initializer}
    for values in (model.graph.input, model.graph.output):
        names = [value.name for value in values]
        if len(set(names)) < len(names):
            raise _Refused("it has two inputs or two outputs of one name")
    inputs = {value.name: value for value in model.graph.input if value.name not in initializers}
    outputs = {value.name: value for value in model.graph.output}
    if not all(isinstance(name, str) for name in (*inputs, *outputs)):
        raise _Refused("the name of an input or output is damaged")
    missing = (INPUTS.keys() - OPTIONAL_INPUTS - inputs.keys()) | (OUTPUTS.keys() - outputs.keys())
    if missing:
        raise _Refused(f"it has no input or output named {', '.join(sorted(missing))}")
    unknown = (inputs.keys() - INPUTS.keys()) | (outputs.keys() - OUTPUTS.keys())
    if unknown:
        raise _Refused(f"it has an unknown input or output {shown(min(unknown))}")
    for name, shape in (*INPUTS.items(), *OUTPUTS.items()):
        value = inputs.get(name) or outputs.get(name)
        if value is not None:
            _check_shape(value, shape, must_say=name in inputs)
    return frozenset(inputs)


def _check_shape(value: ValueInfoProto, shape: tuple[int | None, ...], must_say: bool) -> None:
    """`must_say`: whether every size that cannot vary has to be in the file, since sizes of other values follow."""
    tensor = value.type.tensor_type
    if tensor.elem_type != TensorProto.FLOAT:
        raise _Refused(f"{value.name} is not of 32-bit floats")
    dimensions = tensor.shape.dim
    if len(dimensions) != len(shape):
        raise _Refused(f"{value.name} has {len(dimensions)} dimensions where {len(shape)} are needed")
    for dimension, size in zip(dimensions, shape, strict=True):
        fixed = dimension.dim_value if dimension.HasField("dim_value") else None
        if fixed is not None and fixed != size:
            wanted = "one that varies" if size is None else str(size)
            raise _Refused(f"{value.name} has a dimension of {fixed} where {wanted} is needed")
        if fixed is None and size is not None and must_say:
            raise _Refused(f"{value.name} has a dimension of no fixed size where {size} is needed")


# --- The lengths of fields -------------------------------------------------------------------------------------------
# Parsing makes an object of every field, and a field may be as short as two bytes: a file within its size limit could
# fill the memory. (https://protobuf.dev/programming-guides/encoding)

MOST_FIELDS = 1_000_000
"""Fields of all messages together. A network of a thousand layers has about 50,000."""
MOST_VARINTS = 1 << 24
"""Bytes of packed numbers of variable length: they take eight times that, parsed."""
DEEPEST = 12

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
VARIABLE_TYPES = {3, 4, 5, 8, 13, 14, 17, 18}
"""Field types, as descriptors number them, whose numbers are of variable length."""


def check_fields(content: bytes, descriptor: Any) -> None:
    """Refuse a message that is damaged or that would take much more memory than its bytes. `descriptor`: its type's.
    Raises ValueError."""
    fields = varints = 0
    todo = [(0, len(content), descriptor, 0)]
    while todo:
        at, end, message, depth = todo.pop()
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        known = message.fields_by_number
        while at < end:
            fields += 1
            if fields > MOST_FIELDS:
                raise ValueError("too many fields")
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
                raise ValueError("an unknown kind of field")
            if at > end:
                raise ValueError("ends early")
    if varints > MOST_VARINTS:
        raise ValueError("too many numbers of variable length")


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
    raise ValueError("ends early")
