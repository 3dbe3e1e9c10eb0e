"""A dbt project built twice by dbt itself, with other rows the second time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acidsql.syntax.described import described
from tests.dbt.environment import make_environment
from tests.requirements import unavailable

_PROJECT = Path(__file__).with_name("project")
_ROOT = Path(__file__).parents[2]
_SECONDS = 1500
_SECOND_SEED = """\
id,customer,status,amount,ordered_at,note
1,Ann,shipped,10.50,2024-05-01 10:00:00,it's \\ fine
3,Ann,shipped,5.25,2024-05-02 09:00:00,ok
4,Cleo,placed,7.00,2024-05-03 08:00:00,new
"""
_TIMES = ["--event-time-start", "2024-05-01", "--event-time-end", "2024-05-03"]


class Dbt:
    """Copy of the project, and the commands that work on it."""

    def __init__(self, python: Path, directory: Path) -> None:
        self.python = python
        self.project = directory / "project"
        self.home = directory / "home"
        self.home.mkdir()
        shutil.copytree(_PROJECT, self.project)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run dbt."""
        dbt = self.python.with_name("dbt")
        return self._run(str(dbt), *arguments, "--profiles-dir", ".", "--no-use-colors")

    def use(self, *arguments: str) -> dict[str, Any]:
        """Return what ``program.py`` found, which builds the project with these arguments."""
        done = self._run(str(self.python), "-m", "tests.dbt.program", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads((self.project / "rows.json").read_text("utf-8"))
        return found

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(_ROOT),
            "SHOP_HOME": str(self.home),
            "TZ": "UTC",
        }
        return subprocess.run(
            command,
            cwd=self.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )


@pytest.fixture(scope="module")
def dbt(tmp_path_factory: pytest.TempPathFactory) -> Dbt:
    directory = tmp_path_factory.mktemp("dbt")
    try:
        python = make_environment(directory)
    except subprocess.CalledProcessError as error:
        unavailable(f"dbt cannot be installed: {error.stderr}")
    return Dbt(python, directory)


@pytest.mark.packaging
@pytest.mark.timeout(_SECONDS)
def test_project_is_built_and_built_again(dbt: Dbt) -> None:
    first = dbt.run("build", *_TIMES)
    assert first.returncode == 0, first.stdout
    (dbt.project / "seeds" / "raw_orders.csv").write_text(_SECOND_SEED)
    rows = dbt.use(*_TIMES, "--vars", "{round: 2}")
    assert rows["built"]
    assert rows["generated"]
    assert rows["changed"]["orders"] == 3
    assert rows["seed"] == [
        [1, "shipped", "10.50", "it's \\ fine"],
        [3, "shipped", "5.25", "ok"],
        [4, "placed", "7.00", "new"],
    ]
    # Times are the text of the file, though the zones of the session and of the process differ.
    assert rows["seed_times"] == [
        [1, "2024-05-01 10:00:00"],
        [3, "2024-05-02 09:00:00"],
        [4, "2024-05-03 08:00:00"],
    ]
    # Names in another case are no new columns.
    assert rows["mixed"] == [[1, "round 2", 5]]
    assert rows["mixed_days"] == [[2, "2024-01-01"]]
    assert rows["mixed_rows"] == [[1, "x"], [2, "x"]]
    assert rows["view"] == [[1, "2024-05-01"], [3, "2024-05-02"], [4, "2024-05-03"]]
    assert rows["customers"] == [["Ann", 2, "15.75"], ["Cleo", 1, "7.00"]]
    # Its columns are the same: it was overwritten. Those of the other are not: it was replaced.
    operations = [name for (name,) in rows["customers_writes"]]  # once its comment, once NOT NULL
    assert operations == [
        *(["CHANGE COLUMN"] * 2),
        *("CREATE TABLE AS SELECT", "INSERT OVERWRITE", "RENAME TABLE"),
    ]
    replaced = [["CREATE OR REPLACE TABLE AS SELECT"], ["CREATE TABLE AS SELECT"]]
    assert rows["totals_writes"] == replaced
    assert rows["totals"] == [[3, "10.50"]]
    # merge: 2 is kept, 1 changed but for the excluded column, the new column is NULL in 2
    assert rows["orders"] == [
        [1, "shipped", 1, "it's \\ fine"],
        [2, "placed", 1, None],
        [3, "shipped", 1, "ok"],
        [4, "placed", 2, "new"],
    ]
    # The new column came with the rows.
    assert rows["orders_writes"] == [["CREATE TABLE AS SELECT"], ["MERGE"]]
    # Columns that the query has not got any more are dropped.
    assert rows["synced"] == [[1, 10, None], [2, 20, "new"]]
    assert rows["synced_writes"] == [*replaced, ["INSERT"]]
    assert rows["is_refreshed"]
    assert rows["refreshed"] == [[3, 20, "new"]]
    # delete+insert: the query read the customers of the table as it was before
    assert rows["orders_by_customer"] == [
        ["Ann", 1, "shipped"],
        ["Ann", 3, "shipped"],
        ["Bob", 2, "placed"],
    ]
    # insert_overwrite: the day of 2 was replaced
    assert rows["orders_by_day"] == [[1, "2024-05-01"], [3, "2024-05-02"], [4, "2024-05-03"]]
    assert rows["orders_by_time"] == [[1, "shipped"], [3, "shipped"]]
    assert rows["rounds"] == [[1, 3], [2, 4]]
    assert rows["snapshot"] == [
        [1, "placed", "False", False],
        [1, "shipped", "False", True],
        [2, "placed", "False", False],
        [2, "placed", "True", True],
        [3, "shipped", "False", True],
        [4, "placed", "False", True],
    ]
    _check_contract(rows)
    assert [name for _, name, _ in rows["tables"] if "__dbt" in name] == []

    catalog = json.loads((dbt.project / "target" / "catalog.json").read_text("utf-8"))
    assert catalog["errors"] is None
    customers = catalog["nodes"]["model.shop.customers"]
    assert customers["metadata"]["comment"] == "It's who buys; a \\ is kept"
    assert {
        name: (column["type"], column["comment"]) for name, column in customers["columns"].items()
    } == {
        "customer": ("string", "name of the customer"),
        "orders": ("bigint", None),
        "total": ("decimal(19,2)", None),
    }
    assert catalog["nodes"]["model.shop.stg_orders"]["metadata"]["type"] == "view"

    refused = rows["refused"]
    assert "grants of refused_grants cannot be given" in refused["refused_grants"]
    assert "file_format 'delta' is not one of the adapter" in refused["refused_format"]
    assert "get_incremental_upsert_sql" in refused["refused_strategy"]
    assert not [name for _, name, _ in rows["tables"] if name.startswith("refused")]


def _check_contract(rows: dict[str, Any]) -> None:
    """Check that the table of a contract has its constraints, which its rows meet."""
    found = described(rows["priced_described"])
    assert sorted(one.definition for one in found.constraints) == [
        "CHECK (price < 1000 or customer = 'Ann')",
        "CHECK (price >= 0)",
        "FOREIGN KEY (`customer`) REFERENCES `shop`.`customers` (`customer`) DISABLE NOVALIDATE",
        "PRIMARY KEY (`id`) DISABLE NOVALIDATE",
        "UNIQUE (`id`, `customer`) DISABLE NOVALIDATE",
    ]
    assert {one.name for one in found.constraints} == {
        *("affordable", "priced_chk_1", "priced_fk_1", "priced_pk", "priced_unique_1")
    }
    assert found.not_null == {"id"}
    # A run whose rows break a CHECK left those of the run before.
    assert "CHECK_CONSTRAINT_VIOLATION" in rows["broken"]
    assert rows["priced"] == [[1, "Ann", "10.50"], [3, "Ann", "5.25"], [4, "Cleo", "7.00"]]
    operations = [name for (name,) in rows["priced_writes"]]
    assert operations.count("INSERT OVERWRITE") == 2  # that of the failed run is aborted
