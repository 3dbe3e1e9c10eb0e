"""Functions of Trino that are unchanged in Spark, or replaced by a template.

Each was run on Trino 405 and, after translation, on Spark (``tests/dialects/trino_answers.jsonl``).
"""

from __future__ import annotations

from collections.abc import Mapping

_OF_NONE = "cume_dist dense_rank e percent_rank pi rand rank row_number uuid"
_OF_ONE = """
    abs acos array_distinct array_sort asin atan avg bool_and bool_or cbrt ceil ceiling cos cosh
    count_if day degrees every exp first_value floor grouping hour json_array_length last_value
    length lower map_entries map_from_entries map_keys map_values max min minute month ntile quarter
    radians reverse second shuffle sin soundex sqrt stddev stddev_pop stddev_samp sum tan tanh upper
    var_pop var_samp variance year
"""
_OF_TWO = """
    array_except array_intersect array_position array_remove array_union arrays_overlap atan2 filter
    map_filter max_by min_by mod nth_value nullif pow power transform transform_keys
    transform_values
"""
_OF_THREE = "lpad map_zip_with rpad slice translate zip_with"
_OF_SEVERAL = {
    "array_join": range(2, 4),
    "coalesce": range(1, 100),
    "concat": range(2, 100),
    "concat_ws": range(2, 100),
    "count": range(1, 2),
    "lag": range(1, 4),
    "lead": range(1, 4),
    "map_concat": range(1, 100),
    "round": range(1, 3),
    "sequence": range(2, 4),
    "width_bucket": range(4, 5),
}
SAME: Mapping[str, range] = {
    **dict.fromkeys(_OF_NONE.split(), range(1)),
    **dict.fromkeys(_OF_ONE.split(), range(1, 2)),
    **dict.fromkeys(_OF_TWO.split(), range(2, 3)),
    **dict.fromkeys(_OF_THREE.split(), range(3, 4)),
    **_OF_SEVERAL,
}
"""Functions with the same name and meaning in Spark, and their possible numbers of arguments."""

# Logarithms of numbers that are not positive.
_INFINITE = "WHEN {0} = 0 THEN CAST('-Infinity' AS DOUBLE) WHEN {0} < 0 THEN CAST('NaN' AS DOUBLE)"
# Trino trims all white space of Unicode, but Spark's functions only trim spaces.
_LEFT, _RIGHT = r"'(?U)^\\s+'", r"'(?U)\\s+$'"
_TRIMMED = rf"regexp_replace({{0}}, {_LEFT}, '')"
# The part is decoded, except plus signs. It is an empty string if the URL does not have it.
_URL_PART = (
    "coalesce(url_decode(replace(parse_url({{0}}, {0}), '+', '%2B')), if({{0}} IS NULL, NULL, ''))"
)
_BASE64 = r"translate(base64({0}), '\r\n', '')"
_URL = {
    "url_extract_fragment": "REF",
    "url_extract_host": "HOST",
    "url_extract_path": "PATH",
    "url_extract_protocol": "PROTOCOL",
    "url_extract_query": "QUERY",
}
TEMPLATES: Mapping[tuple[str, int], str] = {
    **{(name, 1): _URL_PART.format(f"'{part}'") for name, part in _URL.items()},
    ("all_match", 2): "forall({0}, {1})",
    ("any_match", 2): "exists({0}, {1})",
    ("arbitrary", 1): "any_value({0}, true)",
    ("array_max", 1): "if(exists({0}, v -> v IS NULL), NULL, array_max({0}))",
    ("array_min", 1): "if(exists({0}, v -> v IS NULL), NULL, array_min({0}))",
    ("bitwise_and", 2): "(CAST({0} AS BIGINT) & CAST({1} AS BIGINT))",
    ("bitwise_and_agg", 1): "bit_and(CAST({0} AS BIGINT))",
    ("bitwise_not", 1): "(~CAST({0} AS BIGINT))",
    ("bitwise_or", 2): "(CAST({0} AS BIGINT) | CAST({1} AS BIGINT))",
    ("bitwise_or_agg", 1): "bit_or(CAST({0} AS BIGINT))",
    ("bitwise_xor", 2): "(CAST({0} AS BIGINT) ^ CAST({1} AS BIGINT))",
    ("cardinality", 1): "if({0} IS NULL, NULL, size({0}))",
    ("codepoint", 1): "ascii({0})",
    ("contains", 2): "array_contains({0}, {1})",
    ("count", 0): "count(*)",
    ("crc32", 1): "crc32({0})",
    ("date", 1): "CAST({0} AS DATE)",
    ("day_of_month", 1): "day({0})",
    ("day_of_week", 1): "(weekday({0}) + 1)",
    ("day_of_year", 1): "dayofyear({0})",
    ("dow", 1): "(weekday({0}) + 1)",
    ("doy", 1): "dayofyear({0})",
    ("element_at", 2): "try_element_at({0}, {1})",
    ("flatten", 1): "flatten(filter({0}, v -> v IS NOT NULL))",
    ("from_base64", 1): "unbase64({0})",
    ("from_hex", 1): "unhex({0})",
    ("from_iso8601_date", 1): "CAST({0} AS DATE)",
    ("from_iso8601_timestamp", 1): "CAST({0} AS TIMESTAMP)",
    ("from_unixtime", 1): "timestamp_seconds({0})",
    ("from_utf8", 1): "decode({0}, 'UTF-8')",
    ("if", 2): "if({0}, {1}, NULL)",
    ("if", 3): "if({0}, {1}, {2})",
    ("infinity", 0): "CAST('Infinity' AS DOUBLE)",
    ("is_nan", 1): "if({0} IS NULL, NULL, isnan({0}))",
    ("last_day_of_month", 1): "last_day({0})",
    ("levenshtein_distance", 2): "levenshtein({0}, {1})",
    ("ln", 1): f"CASE WHEN {{0}} > 0 THEN ln({{0}}) {_INFINITE} END",
    ("log10", 1): f"CASE WHEN {{0}} > 0 THEN log10({{0}}) {_INFINITE} END",
    ("log2", 1): f"CASE WHEN {{0}} > 0 THEN log2({{0}}) {_INFINITE} END",
    ("ltrim", 1): _TRIMMED,
    ("map", 0): "map()",
    ("map", 2): "map_from_arrays({0}, {1})",
    ("md5", 1): "unhex(md5({0}))",
    ("millisecond", 1): "CAST(date_format({0}, 'SSS') AS INT)",
    ("nan", 0): "CAST('NaN' AS DOUBLE)",
    ("none_match", 2): "(NOT exists({0}, {1}))",
    ("now", 0): "current_timestamp()",
    ("random", 0): "rand()",
    ("reduce", 4): "aggregate({0}, {1}, {2}, {3})",
    ("regexp_count", 2): "regexp_count({0}, {1})",
    ("regexp_extract", 2): "CASE WHEN {0} RLIKE {1} THEN regexp_extract({0}, {1}, 0) END",
    ("regexp_extract", 3): "CASE WHEN {0} RLIKE {1} THEN regexp_extract({0}, {1}, {2}) END",
    ("regexp_extract_all", 2): "regexp_extract_all({0}, {1}, 0)",
    ("regexp_extract_all", 3): "regexp_extract_all({0}, {1}, {2})",
    ("regexp_like", 2): "({0} RLIKE {1})",
    ("regexp_replace", 2): "regexp_replace({0}, {1}, '')",
    ("regexp_replace", 3): "regexp_replace({0}, {1}, {2})",
    ("regexp_split", 2): "split({0}, {1})",
    ("repeat", 2): "array_repeat({0}, {1})",
    ("rtrim", 1): rf"regexp_replace({{0}}, {_RIGHT}, '')",
    ("sha1", 1): "unhex(sha1({0}))",
    ("sha256", 1): "unhex(sha2({0}, 256))",
    ("sha512", 1): "unhex(sha2({0}, 512))",
    ("sign", 1): "sign({0})",
    ("starts_with", 2): "startswith({0}, {1})",
    ("strpos", 2): "instr({0}, {1})",
    ("to_base64", 1): _BASE64,
    ("to_hex", 1): "hex({0})",
    ("to_unixtime", 1): "(unix_micros(CAST({0} AS TIMESTAMP)) / 1e6D)",
    ("trim", 1): rf"regexp_replace({_TRIMMED}, {_RIGHT}, '')",
    ("to_utf8", 1): "encode({0}, 'UTF-8')",
    ("url_decode", 1): "url_decode({0})",
    ("url_encode", 1): "url_encode({0})",
    ("url_extract_parameter", 2): "url_decode(parse_url({0}, 'QUERY', {1}))",
    ("week", 1): "weekofyear({0})",
    ("week_of_year", 1): "weekofyear({0})",
    ("year_of_week", 1): "extract(YEAROFWEEK FROM {0})",
    ("yow", 1): "extract(YEAROFWEEK FROM {0})",
}
"""Replacements of functions, by the function's name and number of arguments."""

INSTEAD: Mapping[str, str] = {
    "approx_distinct": "use count(DISTINCT x)",
    "approx_percentile": "use percentile(x, p) in Spark's dialect",
    "array_agg": "give it one argument, without DISTINCT, ORDER BY and OVER",
    "chr": "write the character",
    "corr": "use Spark's dialect",
    "date_diff": "name the unit in the text, from millisecond to year",
    "format": "use concat, or format_string in Spark's dialect",
    "json_extract": "use json_extract_scalar, or get_json_object in Spark's dialect",
    "json_parse": "leave JSON as text, and use json_extract_scalar",
    "map_agg": "use map_from_entries of array_agg",
    "split_to_map": "use str_to_map in Spark's dialect",
    "try": "use try_cast or nullif",
    "typeof": "leave it out: types have other names in Spark",
}
"""What to write instead of functions that are refused."""
