"""Tests of the SQLAlchemy dialect over a session: engines, reflection, pandas."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pandas as pd  # type: ignore[import-untyped]
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.schema import AddConstraint, DropConstraint

import acidsql

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture
def engine(lab: Lab) -> Iterator[sa.Engine]:
    made = sa.create_engine("acidsql://", creator=lambda: acidsql.connect(lab.spark))
    yield made
    made.dispose()


@pytest.mark.slow
def test_tables_are_made_filled_and_reflected(lab: Lab, engine: sa.Engine) -> None:
    pet = sa.Table(
        "sa_pet",
        sa.MetaData(),
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("name", sa.String, comment="what it hears to"),
        sa.Column("price", sa.Numeric(8, 2)),
        sa.Column("born", sa.DateTime, index=True),
        sa.Column("photo", sa.LargeBinary),
    )
    pet.create(engine)
    born = dt.datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001 - local, as PySpark's are
    rows = [
        {"id": i, "name": f"n{i}", "price": Decimal(i), "born": born, "photo": b"\x01"}
        for i in range(3)
    ]
    with engine.begin() as connection:
        assert connection.execute(sa.insert(pet), rows).rowcount == 3
    assert len(lab.directories("sa_pet")) == 1  # one write
    with engine.connect() as connection:
        found = connection.execute(sa.select(pet).order_by(pet.c.id).limit(2).offset(1)).all()
        assert found == [(i, f"n{i}", Decimal(i), born, b"\x01") for i in (1, 2)]
        connection.execute(sa.update(pet).where(pet.c.id == 1).values(name="it's"))
        connection.rollback()
        connection.execute(sa.delete(pet).where(pet.c.born == born, pet.c.id.in_([1, 2])))
        connection.commit()
    assert lab.rows("sa_pet", "id, name") == [(0, "n0")]

    lab.sql("CREATE VIEW sa_view AS SELECT id FROM sa_pet")
    inspector = sa.inspect(engine)
    assert inspector.default_schema_name == "default"
    assert "default" in inspector.get_schema_names()
    assert "sa_pet" in inspector.get_table_names()
    assert "sa_view" not in inspector.get_table_names()
    assert "sa_view" in inspector.get_view_names()
    assert inspector.has_table("SA_PET", schema="default")
    assert not inspector.has_table("sa_no_pet")
    again = sa.Table("sa_pet", sa.MetaData(), autoload_with=engine)
    assert [(c.name, str(c.type), c.comment) for c in again.columns] == [
        ("id", "BIGINT", None),
        ("name", "TEXT", "what it hears to"),
        ("price", "NUMERIC(8, 2)", None),
        ("born", "TIMESTAMP", None),
        ("photo", "BLOB", None),
    ]
    assert not again.foreign_keys
    assert not again.indexes
    with pytest.raises(sa.exc.NoSuchTableError):
        sa.Table("sa_no_pet", sa.MetaData(), autoload_with=engine)
    lab.sql("DROP VIEW sa_view")
    pet.drop(engine)
    assert not sa.inspect(engine).has_table("sa_pet")


def test_everything_that_can_be_reflected(lab: Lab, engine: sa.Engine) -> None:
    lab.sql(
        """CREATE TABLE sa_all (id INT NOT NULL, `# of items` INT COMMENT '# it',
        `t.x` DECIMAL(10,2) DEFAULT 1.5, `a, b` STRING NOT NULL, m MAP<STRING, ARRAY<INT>>,
        c CHAR(3)) COMMENT 'all' PARTITIONED BY (day DATE, q STRING)
        STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"""
    )
    lab.sql("CREATE VIEW sa_few AS SELECT id, day FROM sa_all")
    lab.sql("CREATE TABLE sa_plain (id INT, s STRING DEFAULT 'a') USING orc COMMENT 'plain'")
    inspector = sa.inspect(engine)
    assert [
        (c["name"], str(c["type"]), c["nullable"], c["default"], c["comment"])
        for c in inspector.get_columns("sa_all")
    ] == [
        ("id", "INTEGER", False, None, None),
        ("# of items", "INTEGER", True, None, "# it"),
        ("t.x", "NUMERIC(10, 2)", True, "1.5", None),
        ("a, b", "TEXT", False, None, None),
        ("m", "map<string,array<int>>", True, None, None),
        ("c", "CHAR(3)", True, None, None),
        ("day", "DATE", True, None, None),
        ("q", "TEXT", True, None, None),
    ]
    assert [c["name"] for c in inspector.get_columns("sa_few")] == ["id", "day"]
    assert [c["default"] for c in inspector.get_columns("sa_plain")] == [None, "'a'"]
    assert inspector.get_table_comment("sa_all") == {"text": "all"}
    assert inspector.get_table_comment("sa_plain") == {"text": "plain"}
    assert inspector.get_table_comment("sa_few") == {"text": None}
    assert inspector.get_view_definition("sa_few") == "SELECT id, day FROM sa_all"
    for missing in (
        lambda: inspector.get_view_definition("sa_all"),
        lambda: inspector.get_table_comment("sa_none"),
    ):
        with pytest.raises(sa.exc.NoSuchTableError):
            missing()
    again = sa.Table("sa_all", sa.MetaData(), autoload_with=engine)
    assert (again.comment, again.c.id.nullable) == ("all", False)
    with engine.begin() as connection:
        values = {"id": 1, "a, b": "it's :x %s ?", "q": "p"}
        connection.execute(sa.insert(again).values(values))
        assert connection.execute(sa.select(again.c["t.x"], again.c["a, b"])).all() == [
            (Decimal("1.50"), "it's :x %s ?")
        ]
    for kind, name in (("VIEW", "sa_few"), ("TABLE", "sa_all"), ("TABLE", "sa_plain")):
        lab.sql(f"DROP {kind} {name}")


def test_constraints_and_computed_columns_are_reflected(lab: Lab, engine: sa.Engine) -> None:
    lab.sql("CREATE TABLE sa_kind (id INT, CONSTRAINT kind_key PRIMARY KEY (id)) USING acidsql")
    lab.sql(
        """CREATE TABLE sa_toy (id INT, price INT CONSTRAINT cheap CHECK (price < 100), kind INT,
        twice INT GENERATED ALWAYS AS (price * 2), CONSTRAINT toy_key PRIMARY KEY (id, kind),
        CONSTRAINT one_price UNIQUE (price), CONSTRAINT of_kind FOREIGN KEY (kind)
        REFERENCES sa_kind (id)) USING acidsql"""
    )
    inspector = sa.inspect(engine)
    assert inspector.get_pk_constraint("sa_toy") == {
        "name": "toy_key",
        "constrained_columns": ["id", "kind"],
    }
    assert inspector.get_unique_constraints("sa_toy") == [
        {"name": "one_price", "column_names": ["price"]}
    ]
    assert inspector.get_check_constraints("sa_toy") == [
        {"name": "cheap", "sqltext": "price < 100"}
    ]
    own = lab.spark.catalog.currentDatabase()
    for schema in (None, own):
        (key,) = inspector.get_foreign_keys("sa_toy", schema=schema)
        assert key == {
            "name": "of_kind",
            "constrained_columns": ["kind"],
            "referred_schema": schema,
            "referred_table": "sa_kind",
            "referred_columns": ["id"],
            "options": {},
        }
    computed = {c["name"]: c.get("computed") for c in inspector.get_columns("sa_toy")}
    assert computed == {
        **dict.fromkeys(("id", "price", "kind")),
        "twice": {"sqltext": "price * 2", "persisted": True},
    }
    assert inspector.get_pk_constraint("sa_kind")["name"] == "kind_key"
    assert inspector.get_foreign_keys("sa_kind") == []
    again = sa.Table("sa_toy", sa.MetaData(), autoload_with=engine)
    assert [c.name for c in again.primary_key] == ["id", "kind"]
    assert again.c.twice.computed is not None
    assert str(again.c.twice.computed.sqltext) == "price * 2"
    with engine.begin() as connection:
        connection.execute(sa.insert(again).values(id=1, price=4, kind=1))
        assert connection.execute(sa.select(again.c.twice)).all() == [(8,)]
    for name in ("sa_toy", "sa_kind"):
        lab.sql(f"DROP TABLE {name}")


def test_constraints_and_identity_columns_of_a_program(lab: Lab, engine: sa.Engine) -> None:
    meta = sa.MetaData()
    kinds = sa.Table("sa_kinds", meta, sa.Column("id", sa.BigInteger, primary_key=True))
    toys = sa.Table(
        "sa_toys",
        meta,
        sa.Column("id", sa.BigInteger, sa.Identity(always=True, start=5), primary_key=True),
        sa.Column("price", sa.Integer, sa.CheckConstraint("price > 0", name="sa_cheap")),
        sa.Column("twice", sa.Integer, sa.Computed("price * 2")),
        sa.Column("kind", sa.ForeignKey("sa_kinds.id", name="sa_of_kind"), unique=True),
        sa.Column("n", sa.BigInteger, sa.Identity(increment=10)),
    )
    meta.create_all(engine)
    with engine.begin() as connection:
        connection.execute(sa.insert(kinds).values(id=1))
        for price in (4, 6):
            connection.execute(sa.insert(toys).values(price=price, kind=1))
        assert connection.execute(sa.select(toys).order_by(toys.c.id)).all() == [
            (5, 4, 8, 1, 1),
            (6, 6, 12, 1, 11),
        ]
    with pytest.raises(sa.exc.DatabaseError, match="sa_cheap"), engine.begin() as connection:
        connection.execute(sa.insert(toys).values(price=0))
    with pytest.raises(sa.exc.DatabaseError, match="NOT_NULL"), engine.begin() as connection:
        connection.execute(sa.insert(kinds).values(id=None))
    inspector = sa.inspect(engine)
    identities = {c["name"]: c.get("identity") for c in inspector.get_columns("sa_toys")}
    assert identities == {
        "id": {"always": True, "start": 5, "increment": 1},
        **dict.fromkeys(("price", "twice", "kind")),
        "n": {"always": False, "start": 1, "increment": 10},
    }
    assert inspector.get_pk_constraint("sa_toys")["constrained_columns"] == ["id"]
    assert [u["column_names"] for u in inspector.get_unique_constraints("sa_toys")] == [["kind"]]
    assert [k["name"] for k in inspector.get_foreign_keys("sa_toys")] == ["sa_of_kind"]
    again = sa.Table("sa_toys", sa.MetaData(), autoload_with=engine)
    assert again.c.n.identity is not None
    assert (again.c.n.identity.always, again.c.n.identity.increment) == (False, 10)
    more = sa.CheckConstraint("price < 100", name="sa_dear", table=toys)
    with engine.begin() as connection:
        connection.execute(AddConstraint(more))
        connection.execute(DropConstraint(more))
    meta.drop_all(engine)
    assert lab.sql("SHOW TABLES LIKE 'sa_toys|sa_kinds'") == []


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


@pytest.mark.slow
def test_expressions_give_the_values_of_python(engine: sa.Engine) -> None:
    table = sa.Table(
        "sa_values",
        sa.MetaData(),
        sa.Column("id", sa.BigInteger),
        sa.Column("colour", sa.Enum(Colour)),
        sa.Column("at", sa.DateTime),
        sa.Column("lasts", sa.Interval),
        sa.Column("words", sa.ARRAY(sa.String)),
    )
    table.create(engine)
    noon = dt.datetime(2024, 1, 1, 12)  # noqa: DTZ001 - local, as PySpark's are
    hour = dt.timedelta(hours=1)
    rows = [
        {"id": 2**62 + 1, "colour": Colour.RED, "at": noon, "lasts": hour, "words": ["a", "b"]},
        {"id": -7, "colour": Colour.GREEN, "at": None, "lasts": None, "words": None},
    ]
    c = table.c
    with engine.begin() as connection:
        connection.execute(sa.insert(table), rows)
        assert connection.execute(sa.select(table).order_by(c.id.desc())).all() == [
            tuple(row.values()) for row in rows
        ]
        whole = sa.select(c.id // sa.literal(2), sa.literal(7) // sa.literal(2), sa.literal(7) / 2)
        assert connection.execute(whole.order_by(c.id)).all() == [
            (-4, 3, Decimal("3.5")),
            (2**61, 3, Decimal("3.5")),
        ]
        red = sa.select(c.at + hour, c.at - hour, c.at - noon, sa.extract("epoch", c.at))
        found = connection.execute(red.where(c.colour == Colour.RED)).one()
        assert found[:3] == (noon + hour, noon - hour, dt.timedelta(0))
        assert found[3] == noon.timestamp()
        some = sa.select(
            sa.func.aggregate_strings(c.colour, "|"),
            sa.func.max(sa.try_cast(sa.literal("x"), sa.Integer)),
            sa.func.min(sa.cast(c.colour, sa.String).regexp_replace("r", "-", flags="i")),
        )
        joined, nothing, replaced = connection.execute(some).one()
        assert (sorted(joined.split("|")), str(nothing), replaced) == (
            ["GREEN", "RED"],
            "None",
            "-ED",
        )
        assert connection.execute(sa.select(c.id).order_by(c.id).fetch(1)).all() == [(-7,)]
        with pytest.raises(sa.exc.InvalidRequestError, match="savepoints"):
            connection.begin_nested()
    table.drop(engine)


def test_errors_keep_their_condition(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        with pytest.raises(sa.exc.ProgrammingError) as caught:
            connection.execute(sa.text("SELECT * FROM nowhere WHERE id = :id"), {"id": 1})
        assert caught.value.orig is not None
        assert (caught.value.orig.condition, caught.value.orig.sqlstate) == (  # type: ignore[attr-defined]
            "TABLE_OR_VIEW_NOT_FOUND",
            "42P01",
        )


def test_autocommit(lab: Lab, engine: sa.Engine) -> None:
    t = lab.create("id INT")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f"INSERT INTO {t} VALUES (1)"))
    assert lab.rows(t) == [(1,)]
    with engine.connect() as connection:
        assert str(connection.get_isolation_level()) == "SNAPSHOT"


class _Base(DeclarativeBase):
    pass


class _Owner(_Base):
    __tablename__ = "sa_owner"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]


def test_objects(engine: sa.Engine) -> None:
    _Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all([_Owner(id=1, name="Ann"), _Owner(id=2, name="Bob")])
        session.commit()
        found = session.scalars(sa.select(_Owner).where(_Owner.name == "Bob")).one()
        found.name = "Bo"
        session.commit()
        session.delete(session.get_one(_Owner, 1))
        session.commit()
        assert session.execute(sa.select(_Owner.id, _Owner.name)).all() == [(2, "Bo")]
    _Base.metadata.drop_all(engine)


@pytest.mark.slow
def test_pandas(lab: Lab, engine: sa.Engine) -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "x": [0.5, None, 2.0],
            "name": ["a", "it's", None],
            "ok": [True, False, True],
            "at": pd.to_datetime(["2020-01-02 03:04:05", "2021-01-01 00:00:00", None]),
        }
    )
    frame.to_sql("sa_frame", engine)
    assert lab.rows("sa_frame", "id, x, name, ok") == [
        (1, 0.5, "a", True),
        (2, None, "it's", False),
        (3, 2.0, None, True),
    ]
    frame.to_sql("sa_frame", engine, if_exists="append", index=False)
    back = pd.read_sql("SELECT * FROM sa_frame WHERE index IS NOT NULL ORDER BY id", engine)
    assert list(back["id"]) == [1, 2, 3]
    assert list(back["name"].fillna("-")) == ["a", "it's", "-"]
    assert list(back["ok"]) == [True, False, True]
    assert list(back["at"].fillna(pd.Timestamp(0))) == list(frame["at"].fillna(pd.Timestamp(0)))
    table = pd.read_sql_table("sa_frame", engine, columns=["id"])
    assert sorted(table["id"]) == [1, 1, 2, 2, 3, 3]
    frame[:1].to_sql("sa_frame", engine, if_exists="replace", index=False)
    assert lab.rows("sa_frame", "id") == [(1,)]
    lab.sql("DROP TABLE sa_frame")
