-- length
CAST(array_length("i") AS BIGINT)
-- length of strings
CAST(array_length("w") AS BIGINT)
-- length in arithmetic
(CAST(array_length("d") AS BIGINT) * CAST(2 AS BIGINT))
-- first element
list_extract("i", 0 + 1)
-- third element
list_extract("d", 2 + 1)
-- an element of strings
list_extract("w", 1 + 1)
-- an element by a column
CASE WHEN "a" >= 0 AND "a" < CAST(array_length("i") AS BIGINT) THEN list_extract("i", CAST("a" AS INT) + 1) END
-- an element far outside
CAST(NULL AS BIGINT)
-- a negative constant index
CAST(NULL AS BIGINT)
-- an element in arithmetic
CASE WHEN (list_extract("d", 0 + 1) + list_extract("d", 1 + 1)) BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN (list_extract("d", 0 + 1) + list_extract("d", 1 + 1)) END
-- contains an integer
list_contains("i", CAST(CAST(9007199254740993 AS BIGINT) AS BIGINT))
-- contains the least
list_contains("i", CAST((-9223372036854775807 - 1) AS BIGINT))
-- contains a column
CASE WHEN "a" IS NOT NULL THEN list_contains("i", CAST("a" AS BIGINT)) END
-- contains a float
list_contains("d", CAST(0.0e0 AS DOUBLE))
-- contains a column of floats
CASE WHEN CASE WHEN "f" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "f" END IS NOT NULL THEN list_contains("d", CAST(CASE WHEN "f" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "f" END AS DOUBLE)) END
-- contains an integer among floats
list_contains("d", CAST(2.0e0 AS DOUBLE))
-- contains a column of integers among floats
CASE WHEN CAST("a" AS DOUBLE) IS NOT NULL THEN list_contains("d", CAST(CAST("a" AS DOUBLE) AS DOUBLE)) END
-- contains a string
list_contains("w", CAST('it''s' AS VARCHAR))
-- contains the empty string
list_contains("w", CAST('' AS VARCHAR))
-- contains a column of strings
CASE WHEN "s" IS NOT NULL THEN list_contains("w", CAST("s" AS VARCHAR)) END
-- a filter on an array
(NOT list_contains("w", CAST('x' AS VARCHAR)))
-- least integer
list_min("i")
-- greatest integer
list_max("i")
-- least float
list_min("d")
-- greatest float
list_max("d")
-- null test
("i" IS NULL)
-- first that is not null
COALESCE("i", CAST([CAST(7 AS BIGINT), (-9223372036854775807 - 1)] AS BIGINT[]))
-- integers for floats
COALESCE("d", CAST([1.0e0, 2.0e0] AS DOUBLE[]))
-- strings with quotes
COALESCE("w", CAST(['it''s', '\n'] AS VARCHAR[]))
-- a choice of arrays
CASE WHEN ("a" > CAST(0 AS BIGINT)) THEN "i" ELSE CAST(NULL AS BIGINT[]) END
WITH hits0 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v0 FROM
    (SELECT label_id, "u" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "i" AS v0 FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("i" IS NULL)))) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied0 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("i" IS NULL)))) e
  SEMI JOIN hits0 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best0 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "i" IS NOT NULL, 'v0': "i"} AS r FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("i" IS NULL)))) e
  SEMI JOIN tied0 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest0 AS (
  SELECT label_id, {'t': h.t, 'v0': CASE WHEN b.t IS NULL THEN h.v0 ELSE b.r.v0 END} AS l0, o AS l0_q
  FROM hits0 h LEFT JOIN best0 b ON h.k0 = b.k0 AND h.t = b.t),
hits1 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v0 FROM
    (SELECT label_id, "u" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "d" AS v0 FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("d" IS NULL)))) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied1 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("d" IS NULL)))) e
  SEMI JOIN hits1 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best1 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "d" IS NOT NULL, 'v0': "d"} AS r FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("d" IS NULL)))) e
  SEMI JOIN tied1 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest1 AS (
  SELECT label_id, {'t': h.t, 'v0': CASE WHEN b.t IS NULL THEN h.v0 ELSE b.r.v0 END} AS l1, o AS l1_q
  FROM hits1 h LEFT JOIN best1 b ON h.k0 = b.k0 AND h.t = b.t),
hits2 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v0 FROM
    (SELECT label_id, "u" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "w" AS v0 FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("w" IS NULL)))) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied2 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("w" IS NULL)))) e
  SEMI JOIN hits2 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best2 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "w" IS NOT NULL, 'v0': "w"} AS r FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("w" IS NULL)))) e
  SEMI JOIN tied2 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest2 AS (
  SELECT label_id, {'t': h.t, 'v0': CASE WHEN b.t IS NULL THEN h.v0 ELSE b.r.v0 END} AS l2, o AS l2_q
  FROM hits2 h LEFT JOIN best2 b ON h.k0 = b.k0 AND h.t = b.t),
hits3 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v2 FROM
    (SELECT label_id, "u" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "d" AS v2 FROM "bare" WHERE "u" IS NOT NULL) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied3 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "bare" WHERE "u" IS NOT NULL) e
  SEMI JOIN hits3 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best3 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "u" IS NOT NULL, 'v0': "u", 'n1': "i" IS NOT NULL, 'v1': "i", 'n2': "d" IS NOT NULL, 'v2': "d", 'n3': "w" IS NOT NULL, 'v3': "w"} AS r FROM "bare" WHERE "u" IS NOT NULL) e
  SEMI JOIN tied3 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest3 AS (
  SELECT label_id, {'t': h.t, 'v2': CASE WHEN b.t IS NULL THEN h.v2 ELSE b.r.v2 END} AS l3, o AS l3_q
  FROM hits3 h LEFT JOIN best3 b ON h.k0 = b.k0 AND h.t = b.t),
hits4 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v3 FROM
    (SELECT label_id, "u" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "w" AS v3 FROM "bare" WHERE "u" IS NOT NULL AND (list_contains("w", CAST('a' AS VARCHAR)))) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied4 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "bare" WHERE "u" IS NOT NULL AND (list_contains("w", CAST('a' AS VARCHAR)))) e
  SEMI JOIN hits4 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best4 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "u" IS NOT NULL, 'v0': "u", 'n1': "i" IS NOT NULL, 'v1': "i", 'n2': "d" IS NOT NULL, 'v2': "d", 'n3': "w" IS NOT NULL, 'v3': "w"} AS r FROM "bare" WHERE "u" IS NOT NULL AND (list_contains("w", CAST('a' AS VARCHAR)))) e
  SEMI JOIN tied4 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest4 AS (
  SELECT label_id, {'t': h.t, 'v3': CASE WHEN b.t IS NULL THEN h.v3 ELSE b.r.v3 END} AS l4, o AS l4_q
  FROM hits4 h LEFT JOIN best4 b ON h.k0 = b.k0 AND h.t = b.t),
merged AS (SELECT * FROM latest0 JOIN latest1 USING (label_id) JOIN latest2 USING (label_id) JOIN latest3 USING (label_id) JOIN latest4 USING (label_id))
SELECT label_id,
  l0.v0 AS "latest_arrays__i",
  l1.v0 AS "latest_arrays__d",
  l2.v0 AS "latest_arrays__w",
  l3.v2 AS "latest_arrays__row_d",
  COALESCE(CASE WHEN l1.t >= l1_q - 3600000000 THEN l1.v0 END, CAST([0.5e0, 1.0e0] AS DOUBLE[])) AS "latest_arrays__recent",
  COALESCE(l4.v3, CAST([] AS VARCHAR[])) AS "latest_arrays__tagged"
FROM merged
WITH frames0 AS (
  SELECT label_id, CAST(SUM(v0) OVER f0 AS BIGINT) AS w0_p0, TRY_CAST(SUM(v1) OVER f0 AS BIGINT) AS w0_p1, CAST(SUM(v2) OVER f0 AS DOUBLE) AS w0_p2, CAST(SUM(v3) OVER f0 AS BIGINT) AS w0_p3, CAST(MAX(v4) OVER f0 AS BIGINT) AS w0_p4, CAST(SUM(v5) OVER f0 AS BIGINT) AS w0_p5, CAST(MIN(v6) OVER f0 AS DOUBLE) AS w0_p6 FROM (
    SELECT label_id, "u" AS k0, ts_us AS o, ts_us - ((ts_us - 600000000) - ((((ts_us - 600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ts_us AS e1, CAST(NULL AS BIGINT) AS v0, CAST(NULL AS BIGINT) AS v1, CAST(NULL AS DOUBLE) AS v2, CAST(NULL AS BIGINT) AS v3, CAST(NULL AS BIGINT) AS v4, CAST(NULL AS BIGINT) AS v5, CAST(NULL AS DOUBLE) AS v6 FROM "labels"
    UNION ALL SELECT NULL, "u" AS k0, ts_us, 1, 1, CASE WHEN ("d" IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END, CAST(array_length("i") AS BIGINT), list_extract("d", 0 + 1), CASE WHEN (list_extract("d", 0 + 1) IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END, CASE WHEN "x" >= 0 AND "x" < CAST(array_length("i") AS BIGINT) THEN list_extract("i", CAST("x" AS INT) + 1) END, CASE WHEN (list_contains("w", CAST('a' AS VARCHAR)) AND (NOT CASE WHEN "x" IS NOT NULL THEN list_contains("i", CAST("x" AS BIGINT)) END)) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END, list_min(COALESCE("d", CAST([-1.0e0] AS DOUBLE[]))) FROM "vectors" WHERE "u" IS NOT NULL)
  WINDOW f0 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
hits0 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v2 FROM
    (SELECT label_id, "u" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "i" AS v2 FROM "vectors" WHERE "u" IS NOT NULL) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied0 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "vectors" WHERE "u" IS NOT NULL) e
  SEMI JOIN hits0 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best0 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "seq" IS NOT NULL, 'v0': "seq", 'n1': "u" IS NOT NULL, 'v1': "u", 'n2': "i" IS NOT NULL, 'v2': "i", 'n3': "d" IS NOT NULL, 'v3': "d", 'n4': "w" IS NOT NULL, 'v4': "w", 'n5': "x" IS NOT NULL, 'v5': "x", 'n6': "seq" IS NOT NULL, 'v6': "seq"} AS r FROM "vectors" WHERE "u" IS NOT NULL) e
  SEMI JOIN tied0 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest0 AS (
  SELECT label_id, {'t': h.t, 'v2': CASE WHEN b.t IS NULL THEN h.v2 ELSE b.r.v2 END} AS l0, o AS l0_q
  FROM hits0 h LEFT JOIN best0 b ON h.k0 = b.k0 AND h.t = b.t),
merged AS (SELECT * FROM frames0 JOIN latest0 USING (label_id))
SELECT label_id,
  COALESCE("w0_p0", CAST(0 AS BIGINT)) AS "array_windows__n",
  "w0_p1" AS "array_windows__items",
  CASE WHEN (CAST(CAST("w0_p2" AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST("w0_p3" AS DOUBLE) AS DOUBLE), 0e0)) BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN (CAST(CAST("w0_p2" AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST("w0_p3" AS DOUBLE) AS DOUBLE), 0e0)) END AS "array_windows__first",
  "w0_p4" AS "array_windows__chosen",
  COALESCE("w0_p5", CAST(0 AS BIGINT)) AS "array_windows__tagged",
  "w0_p6" AS "array_windows__lowest",
  l0.v2 AS "array_windows__by_sequence"
FROM merged
WITH hits0 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v0 FROM
    (SELECT label_id, "u" AS k0, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "i" AS v0 FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("i" IS NULL)))) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied0 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("i" IS NULL)))) e
  SEMI JOIN hits0 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best0 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "i" IS NOT NULL, 'v0': "i"} AS r FROM "bare" WHERE "u" IS NOT NULL AND ((NOT ("i" IS NULL)))) e
  SEMI JOIN tied0 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest0 AS (
  SELECT label_id, {'t': h.t, 'v0': CASE WHEN b.t IS NULL THEN h.v0 ELSE b.r.v0 END} AS l0, o AS l0_q
  FROM hits0 h LEFT JOIN best0 b ON h.k0 = b.k0 AND h.t = b.t),
hits1 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v3 FROM
    (SELECT label_id, "u" AS k0, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "w" AS v3 FROM "bare" WHERE "u" IS NOT NULL) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied1 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "bare" WHERE "u" IS NOT NULL) e
  SEMI JOIN hits1 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best1 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "u" IS NOT NULL, 'v0': "u", 'n1': "i" IS NOT NULL, 'v1': "i", 'n2': "d" IS NOT NULL, 'v2': "d", 'n3': "w" IS NOT NULL, 'v3': "w"} AS r FROM "bare" WHERE "u" IS NOT NULL) e
  SEMI JOIN tied1 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest1 AS (
  SELECT label_id, {'t': h.t, 'v3': CASE WHEN b.t IS NULL THEN h.v3 ELSE b.r.v3 END} AS l1, o AS l1_q
  FROM hits1 h LEFT JOIN best1 b ON h.k0 = b.k0 AND h.t = b.t),
merged AS (SELECT * FROM latest0 JOIN latest1 USING (label_id))
SELECT label_id,
  l0.v0 AS "array_tiers__hourly",
  COALESCE(CASE WHEN l1.t >= l1_q - 86400000000 THEN l1.v3 END, CAST(['none'] AS VARCHAR[])) AS "array_tiers__daily"
FROM merged
