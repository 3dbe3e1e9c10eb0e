"""Tests of the SQLAlchemy dialect over a session: engines, reflection, pandas."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pandas as pd  # type: ignore[import-untyped]
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import acidsql

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture
def engine(lab: Lab) -> Iterator[sa.Engine]:
    made = sa.create_engine("acidsql://", creator=lambda: acidsql.connect(lab.spark))
    yield made
    made.dispose()


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
