"""CHECK constraints are enforced by every writer; keys are kept and shown."""

from __future__ import annotations

import pytest

import acidsql


def test_try(spark) -> None:
    acidsql.sql(spark, "CREATE TABLE toys (id INT CHECK (id > 0), price INT, day STRING, CONSTRAINT cheap CHECK (price < 100 OR day = 'x'), PRIMARY KEY (id)) USING acidsql PARTITIONED BY (day)")
    print(acidsql.sql(spark, "SHOW CREATE TABLE toys").head()[0])
    acidsql.sql(spark, "DESCRIBE EXTENDED toys").show(100, False)
    def t(s):
        try:
            print(s, acidsql.sql(spark, s).collect())
        except Exception as e:
            print(s, "->", type(e), e, getattr(e,'parameters',None))
    t("INSERT INTO toys VALUES (1, 5, 'a')")
    t("INSERT INTO toys VALUES (0, 5, 'a')")
    t("INSERT INTO toys VALUES (2, 500, 'a')")
    t("INSERT INTO toys VALUES (NULL, 500, 'x')")
    t("INSERT INTO toys SELECT cast(id as int) + 1, 5, 'b' FROM range(2000)")
    t("INSERT INTO toys SELECT cast(id as int), 5, 'b' FROM range(2000)")
    t("INSERT INTO toys PARTITION (day='c') SELECT cast(id as int), 5 FROM range(2000)")
    t("UPDATE toys SET price = 500 WHERE day = 'a'")
    t("UPDATE toys SET price = 500, day = 'x' WHERE day = 'a'")
    t("UPDATE toys SET day = 'y' WHERE day = 'x' and id = 1")
    t("MERGE INTO toys USING (SELECT 1 AS id) s ON toys.id = s.id WHEN MATCHED AND day = 'b' THEN UPDATE SET price = 700 WHEN NOT MATCHED THEN INSERT VALUES (1,1,'a')")
    t("MERGE INTO toys USING (SELECT 10000 AS id) s ON toys.id = s.id WHEN MATCHED THEN UPDATE SET price = 700 WHEN NOT MATCHED THEN INSERT VALUES (s.id,900,'a')")
    t("MERGE INTO toys USING (SELECT 10000 AS id) s ON toys.id = s.id WHEN MATCHED THEN UPDATE SET price = 700 WHEN NOT MATCHED THEN INSERT VALUES (s.id,9,'a')")
    t("ALTER TABLE toys ADD CONSTRAINT small CHECK (id < 10000)")
    t("ALTER TABLE toys ADD CONSTRAINT large CHECK (id < 100000)")
    t("ALTER TABLE toys RENAME COLUMN id TO nr")
    t("ALTER TABLE toys DROP CONSTRAINT large")
    t("ALTER TABLE toys DROP CONSTRAINT large")
    t("ALTER TABLE toys ADD CHECK (rand() < 1)")
    t("ALTER TABLE toys ADD CHECK (id in (select 1))")
    t("ALTER TABLE toys ADD CHECK (nix > 1)")
    t("ALTER TABLE toys ADD CHECK (id + 1)")
    t("ALTER TABLE toys ADD CHECK (count(id) > 1)")
    t("ALTER TABLE toys ADD UNIQUE (id, price) ENABLE")
    t("ALTER TABLE toys ADD FOREIGN KEY (id) REFERENCES other (id)")
    t("DESCRIBE EXTENDED toys AS JSON")
    assert 0
