"""TPC-DS data: DuckDB generates it once per scale factor, as Parquet files that both engines read.

The package ``duckdb-extension-tpcds`` contains DuckDB's ``tpcds`` extension. DuckDB loads it from
its file and checks its signature, so the benchmark downloads nothing.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TABLES = (
    "call_center",
    "catalog_page",
    "catalog_returns",
    "catalog_sales",
    "customer",
    "customer_address",
    "customer_demographics",
    "date_dim",
    "household_demographics",
    "income_band",
    "inventory",
    "item",
    "promotion",
    "reason",
    "ship_mode",
    "store",
    "store_returns",
    "store_sales",
    "time_dim",
    "warehouse",
    "web_page",
    "web_returns",
    "web_sales",
    "web_site",
)
"""The 24 tables of TPC-DS."""

# Settings that keep DuckDB off the network.
_OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


class ExtensionMissingError(RuntimeError):
    """Error of a TPC-DS extension that is missing or belongs to another DuckDB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Column in DuckDB's declaration.

    Args:
        name: column name.
        type: DuckDB's name of the type; in TPC-DS, only VARCHAR has another name in Spark.
    """

    name: str
    type: str

    @property
    def spark_type(self) -> str:
        """Type in Spark SQL."""
        return "STRING" if self.type == "VARCHAR" else self.type


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Generated data of one scale factor.

    Args:
        path: directory with one Parquet file per table and the 99 query texts.
        scale: scale factor; 1 is about 1 GB of text, 2.88 million rows in ``store_sales``.
        queries: text of query 1 to 99 by number.
        columns: columns of each table in order.
    """

    path: Path
    scale: float
    queries: Mapping[int, str]
    columns: Mapping[str, Sequence[Column]]

    def parquet(self, table: str) -> Path:
        """Return the Parquet file of a table."""
        return self.path / f"{table}.parquet"


def extension_path() -> Path:
    """Return the file of the TPC-DS extension built for the installed DuckDB.

    Raises:
        ExtensionMissingError: the package is not installed, or was built for another DuckDB.
    """
    try:
        package = resources.files("duckdb_extension_tpcds")
    except ModuleNotFoundError as err:
        raise ExtensionMissingError(
            "the package duckdb-extension-tpcds is not installed (pip install 'acidsql[bench]')"
        ) from err
    version = duckdb.__version__
    path = Path(str(package)) / "extensions" / f"v{version}" / "tpcds.duckdb_extension"
    if not path.is_file():
        raise ExtensionMissingError(
            f"duckdb-extension-tpcds has no build for DuckDB {version} (install equal versions)"
        )
    return path


def dataset(root: Path, scale: float) -> Dataset:
    """Return the data of a scale factor; generate it if ``root`` does not contain it.

    Args:
        root: directory that stores generated data between runs.
        scale: scale factor.

    Raises:
        ExtensionMissingError: the data must be generated and the extension is missing.
    """
    path = root / f"sf{scale:g}-duckdb{duckdb.__version__}"
    if not path.is_dir():
        extension = extension_path()
        root.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix="generating-", dir=root))
        try:
            _generate(staging, scale, extension)
            # The rename publishes: a directory under the final name is always complete.
            staging.rename(path)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    described = json.loads((path / "dataset.json").read_text())
    return Dataset(
        path=path,
        scale=scale,
        queries={int(number): text for number, text in described["queries"].items()},
        columns={
            table: tuple(Column(name=name, type=type_) for name, type_ in columns)
            for table, columns in described["columns"].items()
        },
    )


def duckdb_with(data: Dataset, tables: Iterable[str]) -> Any:
    """Open an in-memory DuckDB with copies of some tables.

    NULLs sort first in ascending order, as in Spark.
    """
    connection = duckdb.connect(config=_OFFLINE)
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for table in tables:
        connection.execute(f"CREATE TABLE {table} AS FROM read_parquet('{data.parquet(table)}')")
    return connection


def _generate(directory: Path, scale: float, extension: Path) -> None:
    database = directory / "generated.duckdb"
    with duckdb.connect(str(database), config=_OFFLINE) as connection:
        connection.load_extension(str(extension))
        connection.execute(f"CALL dsdgen(sf = {scale:g})")
        columns: dict[str, list[tuple[str, str]]] = {}
        for table in TABLES:
            connection.execute(f"COPY {table} TO '{directory / table}.parquet' (FORMAT parquet)")
            described = connection.execute(f"DESCRIBE {table}").fetchall()
            columns[table] = [(name, type_) for name, type_, *_ in described]
        queries = dict(connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())
    database.unlink()
    (directory / "dataset.json").write_text(json.dumps({"columns": columns, "queries": queries}))
