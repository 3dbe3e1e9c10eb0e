"""Store assignment: convert the values of a source to a column's type, or refuse them.

The rules are those of Spark's ANSI store assignment (``Cast.canANSIStoreAssign``). A number can
become another numeric type if it fits. Dates and timestamps convert to each other. Every atomic
value can become a string. A string becomes another type only if the source contains only text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, chain
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.format.identifiers import folded
from acidsql.streaming import texts
from acidsql.streaming.arrow_types import is_binary, is_moment, is_number, is_text, spark_name
from acidsql.streaming.column_types import ColumnType
from acidsql.streaming.python_values import as_array, split_by_kind
from acidsql.streaming.refusals import (
    Refused,
    check_days,
    check_written_moments,
    first_line,
    repeated_name,
)

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_DECIMAL_DIGITS = 38
_QUOTED = 60  # characters of a value in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Conversion rules of a source.

    Attributes:
        zone: time zone of the local times in files; instants are converted to it.
        parses: whether texts are parsed as values of any type, because the source has only texts.
        binary_is_base64: whether texts for BINARY columns are base64, as in JSON, and not UTF-8.
    """

    zone: ZoneInfo
    parses: bool = False
    binary_is_base64: bool = False


def assign_objects(values: Sequence[Any], target: ColumnType, rules: Rules) -> pa.Array:
    """Convert Python values to an Arrow array of a type.

    A dictionary becomes a struct or a map, depending on the type.

    Raises:
        Refused: one of the values cannot be assigned.
    """
    if target.kind == "map":
        return _map_of_objects(values, target, rules)
    if target.kind == "list":
        return _list_of_objects(values, target, rules)
    if target.kind == "struct":
        return _struct_of_objects(values, target, rules)
    groups = split_by_kind(values)
    if groups:
        return _assign_groups(values, groups, target, rules)
    return assign(as_array(values, target.arrow), target, rules)


def _assign_groups(
    values: Sequence[Any], groups: Sequence[Sequence[int]], target: ColumnType, rules: Rules
) -> pa.Array:
    """Assign the values at the positions of each group together, and restore their order."""
    made = [assign_objects([values[i] for i in group], target, rules) for group in groups]
    order = pa.array(list(chain.from_iterable(groups)), pa.int64())
    return pa.concat_arrays(made).take(pc.sort_indices(order))


def assign(values: pa.Array, target: ColumnType, rules: Rules) -> pa.Array:
    """Convert an Arrow array to a type.

    Raises:
        Refused: one of its values cannot be assigned, or no value of its type can.
    """
    source = values.type
    if pa.types.is_dictionary(source):
        return assign(values.dictionary_decode(), target, rules)
    if pa.types.is_null(source):
        return pa.nulls(len(values), target.arrow)
    if source == target.arrow and not target.has_limits:
        return values
    try:
        if target.kind != "simple" and not target.length:
            return _assign_nested(values, target, rules)
        made = _assign_atomic(values, target.arrow, rules)
    except pa.ArrowException as error:
        raise Refused(f"cannot be {target.text}: {first_line(error)}") from error
    if pa.types.is_temporal(target.arrow):
        check_days(made)
    if pa.types.is_timestamp(target.arrow):
        check_written_moments(made)
    return _fitted(made, target) if target.length else made


def partition_texts(values: pa.Array, zone: ZoneInfo) -> pa.Array:
    """Return the values of a partition column as Hive spells them in directory names.

    Trailing zeros of a decimal's fraction are omitted.
    """
    made = _as_text(values, Rules(zone=zone))
    if pa.types.is_decimal(values.type) and values.type.scale > 0:
        return pc.replace_substring_regex(made, r"[.]?0+$", "")
    return made


def _assign_atomic(values: pa.Array, target: pa.DataType, rules: Rules) -> pa.Array:
    source = values.type
    if is_text(source):
        text = values.cast(pa.string())
        if pa.types.is_string(target):
            return text
        if rules.parses:
            return _parsed(text, target, rules)
    elif pa.types.is_string(target):
        return _as_text(values, rules)
    elif is_number(source) and is_number(target):
        return _as_number(values, target)
    elif is_moment(source) and is_moment(target):
        return _as_moment(values, target, rules.zone)
    elif is_binary(source) and pa.types.is_binary(target):
        return values.cast(target)
    elif source == target:
        return values
    raise Refused(f"cannot take a value of type {source} for {spark_name(target)}")


def _as_number(values: pa.Array, target: pa.DataType) -> pa.Array:
    source = values.type
    if pa.types.is_decimal(target):
        return _as_decimal(values, target)
    if pa.types.is_integer(target) and not pa.types.is_integer(source):
        # Round towards zero, as Spark does. Arrow refuses infinity, NaN and numbers out of range.
        values = pc.trunc(values)
        if pa.types.is_decimal(source):
            return pc.cast(
                values, options=pc.CastOptions(target_type=target, allow_decimal_truncate=True)
            )
    if pa.types.is_floating(target):
        return values.cast(target, safe=False)
    return values.cast(target)


def _as_decimal(values: pa.Array, target: pa.DataType) -> pa.Array:
    source = values.type
    if pa.types.is_integer(source):
        widest = pa.decimal128(_DECIMAL_DIGITS, 0)
        return values.cast(pa.int64()).cast(widest).cast(target)
    if pa.types.is_decimal(source) and source.scale <= target.scale:
        return values.cast(target)

    def read(value: float | Decimal) -> Decimal:
        return texts.decimal(value, target.precision, target.scale)

    return _each(values, read, target)


def _as_moment(values: pa.Array, target: pa.DataType, zone: ZoneInfo) -> pa.Array:
    """Convert dates to timestamps or the reverse, or instants to local times in the zone."""
    micro = pa.timestamp("us")
    if pa.types.is_timestamp(target) and target.tz is not None:
        return _as_instant(values, target, zone)
    if pa.types.is_date(values.type):
        local = values.cast(pa.date32())
        return local if pa.types.is_date(target) else local.cast(micro)
    if values.type.tz is not None:
        instants = values.cast(pa.timestamp("us", values.type.tz), safe=False)
        local = pc.local_timestamp(instants.cast(pa.timestamp("us", zone.key)))
    else:
        local = pc.floor_temporal(values, unit="microsecond").cast(micro)
    return local if pa.types.is_timestamp(target) else local.cast(pa.date32(), safe=False)


def _as_instant(values: pa.Array, target: pa.DataType, zone: ZoneInfo) -> pa.Array:
    """Convert to instants; a date or timestamp without a time zone is a local time in ``zone``."""
    if not pa.types.is_date(values.type) and values.type.tz is not None:
        return values.cast(target, safe=False)
    local = _as_moment(values, pa.timestamp("us"), zone)
    try:
        return pc.assume_timezone(local, zone.key, ambiguous="earliest").cast(target)
    except pa.ArrowInvalid:  # a time that the zone skips: Python moves it forward, as Java does
        return _each(local, lambda value: value.replace(tzinfo=zone), target)


def _as_text(values: pa.Array, rules: Rules) -> pa.Array:
    source = values.type
    if pa.types.is_timestamp(source):
        values = _as_moment(values, pa.timestamp("us"), rules.zone)
    write = texts.writer(source)
    if write is not None:
        return _each(values, write, pa.string())
    if is_text(source) or is_binary(source) or is_number(source) or source in _PLAIN_TEXTS:
        return values.cast(pa.string())
    raise Refused(f"cannot take a value of type {source} for STRING")


_PLAIN_TEXTS = (pa.bool_(), pa.date32(), pa.date64())


def _parsed(text: pa.Array, target: pa.DataType, rules: Rules) -> pa.Array:
    """Parse texts as values of a type: in one call if they are plain, otherwise one by one."""
    if pa.types.is_integer(target) or pa.types.is_date(target):
        try:
            return text.cast(target)
        except pa.ArrowInvalid:
            pass  # blanks, signs and other forms that Spark accepts: parse one by one
    read: Callable[[str], object] = texts.reader(target, rules.zone)
    if pa.types.is_binary(target) and rules.binary_is_base64:
        read = texts.octets_of_base64
    return _each(text, read, target)


def _each(values: pa.Array, convert: Callable[[Any], object], target: pa.DataType) -> pa.Array:
    made: list[object] = []
    for value in values.to_pylist():
        try:
            made.append(None if value is None else convert(value))
        except (ValueError, OverflowError) as error:
            raise Refused(
                f"cannot take {str(value)[:_QUOTED]!r} for {spark_name(target)}"
            ) from error
    try:
        return pa.array(made, target)
    except (pa.ArrowException, OverflowError) as error:
        raise Refused(f"{spark_name(target)} is too small: {first_line(error)}") from error


def _fitted(values: pa.Array, target: ColumnType) -> pa.Array:
    """Fit strings to the length of a char or varchar; only blanks may be cut off."""
    lengths = pc.utf8_length(values)
    if pc.max(lengths).as_py() is not None and pc.max(lengths).as_py() > target.length:
        cut = pc.utf8_slice_codeunits(values, 0, target.length)
        rest = pc.utf8_slice_codeunits(values, target.length, 2**31 - 1)
        blank = pc.equal(pc.utf8_rtrim(rest, " "), "")
        if not pc.all(blank).as_py():
            raise Refused(f"is longer than {target.text}")
        values = cut
    if target.kind == "char":
        return pc.utf8_rpad(values, width=target.length, padding=" ")
    return values


def _assign_nested(values: pa.Array, target: ColumnType, rules: Rules) -> pa.Array:
    source = values.type
    if target.kind == "struct" and pa.types.is_struct(source):
        names = [field.name for field in source]
        _check_fields(names, target)
        arrays = dict(zip(map(folded, names), values.flatten(), strict=True))
        children = [
            assign(arrays[folded(name)], child, rules)
            if folded(name) in arrays
            else pa.nulls(len(values), child.arrow)
            for name, child in zip(target.names, target.children, strict=True)
        ]
        return pa.StructArray.from_arrays(
            children, fields=list(target.arrow), mask=values.is_null()
        )
    if target.kind == "list" and (pa.types.is_list(source) or pa.types.is_large_list(source)):
        elements = assign(pc.list_flatten(values), target.children[0], rules)
        sizes = pc.fill_null(pc.list_value_length(values), 0).to_pylist()
        return _list_array(elements, sizes, values.is_null())
    if target.kind == "map" and pa.types.is_map(source):
        return _map_of_objects(values.to_pylist(), target, rules)
    raise Refused(f"cannot take a value of type {source} for {target.text}")


def _list_array(elements: pa.Array, sizes: Sequence[int], mask: pa.Array) -> pa.Array:
    offsets = pa.array(accumulate(sizes, initial=0), pa.int32())
    return pa.ListArray.from_arrays(offsets, elements, mask=mask)


def _list_of_objects(values: Sequence[Any], target: ColumnType, rules: Rules) -> pa.Array:
    for value in values:
        if not (value is None or isinstance(value, list | tuple)):
            raise Refused(f"cannot take a {type(value).__name__} for {target.text}")
    elements = list(chain.from_iterable(value for value in values if value is not None))
    return _list_array(
        assign_objects(elements, target.children[0], rules),
        [len(value or ()) for value in values],
        pa.array([value is None for value in values], pa.bool_()),
    )


def _map_of_objects(values: Sequence[Any], target: ColumnType, rules: Rules) -> pa.Array:
    key, item = target.children
    pairs: list[list[tuple[Any, Any]] | None] = []
    for value in values:
        entries = list(value.items()) if isinstance(value, dict) else value
        try:
            pairs.append(None if entries is None else [(k, v) for k, v in entries])
        except (TypeError, ValueError) as error:
            raise Refused(f"cannot take a {type(value).__name__} for {target.text}") from error
    flat = list(chain.from_iterable(entries for entries in pairs if entries is not None))
    if any(k is None for k, _ in flat):
        raise Refused("cannot have NULL as the key of a map")
    offsets = list(accumulate((len(entries or ()) for entries in pairs), initial=0))
    # A null offset makes the map that begins there NULL.
    marked = [None if p is None else o for p, o in zip(pairs, offsets, strict=False)]
    return pa.MapArray.from_arrays(
        pa.array([*marked, offsets[-1]], pa.int32()),
        assign_objects([k for k, _ in flat], key, rules),
        assign_objects([v for _, v in flat], item, rules),
    )


def _struct_of_objects(values: Sequence[Any], target: ColumnType, rules: Rules) -> pa.Array:
    structs: list[dict[str, Any]] = []
    for value in values:
        if isinstance(value, dict):
            _check_fields(list(value), target)
            structs.append({folded(str(k)): v for k, v in value.items()})
        elif isinstance(value, list | tuple) and len(value) == len(target.names):
            structs.append(dict(zip(map(folded, target.names), value, strict=True)))
        elif value is None:
            structs.append({})
        else:
            raise Refused(f"cannot take a {type(value).__name__} for {target.text}")
    children = [
        assign_objects([value.get(folded(name)) for value in structs], child, rules)
        for name, child in zip(target.names, target.children, strict=True)
    ]
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays(children, fields=list(target.arrow), mask=mask)


def _check_fields(names: Sequence[str], target: ColumnType) -> None:
    known = {folded(name) for name in target.names}
    unknown = [name for name in names if folded(str(name)) not in known]
    if unknown:
        raise Refused(f"has no field {unknown[0]!r} in {target.text}")
    twice = repeated_name(names)
    if twice is not None:
        raise Refused(f"has the field {twice!r} twice, in another case")
