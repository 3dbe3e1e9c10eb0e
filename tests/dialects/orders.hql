SET hivevar:day=2024-02-29;
SET hive.exec.dynamic.partition.mode=nonstrict;

-- Orders, their lines and a change of both: what is usual in scripts of Hive; a day ends at '\
CREATE TABLE orders (id INT, customer STRING, ordered DATE, amount DECIMAL(10,2), tags ARRAY<STRING>,
    code VARCHAR(4), seen TIMESTAMP)
STORED AS ORC TBLPROPERTIES ('transactional'='true');

INSERT INTO TABLE orders
SELECT 1, 'O''Hara; Ann', CAST('2024-02-29' AS DATE), 12.50, split('new,big', ','),
    CAST('abcdef' AS VARCHAR(4)), CAST('2024-02-29 10:11:12' AS TIMESTAMP)
UNION ALL
SELECT 2, "Bob \"B\"", CAST(add_months('2024-02-29', 1) AS DATE), CAST('99.999' AS DECIMAL(10,2)), array('old'),
    CAST(lpad('7', 4, '0') AS VARCHAR(4)), from_utc_timestamp('2024-07-01 00:00:00', 'Europe/Berlin')
UNION ALL
SELECT 3, CAST(NULL AS STRING), date_sub('${hivevar:day}', 30), CAST(1 / 3 AS DECIMAL(10,2)), split('', ','),
    CAST(substr('xyz', -5) AS VARCHAR(4)), CAST('${day} 00:00:00' AS TIMESTAMP);

INSERT INTO orders (id, customer, ordered, amount)
VALUES (4, 'Dora', '${hivevar:day}', 4), (5, 'Eve', NULL, -0.5);

UPDATE orders SET amount = greatest(amount, 5), code = substr(trunc(ordered, 'Q'), 6, 2)
WHERE ordered >= '2024-01-15';

CREATE TABLE lines STORED AS ORC TBLPROPERTIES ('transactional'='true') AS
SELECT o.id, t.tag, t.place, datediff('${hivevar:day}', o.ordered) AS days,
    row_number() OVER (PARTITION BY o.id ORDER BY t.tag DESC) AS number
FROM orders o LATERAL VIEW OUTER posexplode(o.tags) t AS place, tag;

MERGE INTO orders AS t
USING (SELECT if(id = 4, 9, id) AS id, max(tag) AS tag, count(*) AS n
       FROM lines GROUP BY if(id = 4, 9, id)) AS s
ON t.id = s.id
WHEN MATCHED AND s.n > 1 THEN UPDATE SET customer = concat(upper(s.tag), '-', t.customer)
WHEN MATCHED AND t.amount < 0 THEN DELETE
WHEN NOT MATCHED THEN INSERT (id, customer, ordered)
    VALUES (s.id, nvl(s.tag, 'late'), CAST(last_day('${hivevar:day}') AS DATE));

DELETE FROM lines WHERE nvl(tag, '') = 'old';

CREATE TABLE totals STORED AS ORC TBLPROPERTIES ('transactional'='true') AS
SELECT date_format(ordered, 'yyyy-MM') AS month, sum(amount) AS total, round(stddev(amount), 6) AS spread,
    size(collect_set(customer)) AS customers, CAST('x12' AS INT) AS nothing
FROM orders GROUP BY date_format(ordered, 'yyyy-MM') ORDER BY month LIMIT 0, 3;
