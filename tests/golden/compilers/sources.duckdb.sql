WITH stacked AS (
  SELECT "u" AS k0, fdsl_unit, CASE WHEN fdsl_unit IN (0, 1) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (2, 3) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (4, 5) THEN (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) WHEN fdsl_unit IN (6, 7) THEN (ts_us - (((ts_us % 86400000000) + 86400000000) % 86400000000)) ELSE 0 END AS b, CASE WHEN fdsl_unit IN (1, 3, 5, 7) THEN -ts_us WHEN fdsl_unit IN (0) THEN GREATEST(ts_us, arrival_us - 1) WHEN fdsl_unit IN (4) THEN GREATEST(ts_us, arrival_us - 600000001) WHEN fdsl_unit IN (6) THEN GREATEST(ts_us, arrival_us - 3600000001) WHEN fdsl_unit IN (8) THEN GREATEST(ts_us, arrival_us - 1) WHEN fdsl_unit IN (9) THEN GREATEST(ts_us, arrival_us - 600000001) ELSE ts_us END AS o, CAST(NULL AS BIGINT) AS label_id, CASE WHEN fdsl_unit IN (0, 1) THEN "x" ELSE CAST(NULL AS BIGINT) END AS max_int_0, CASE WHEN fdsl_unit IN (0, 1, 2, 3, 4, 5, 6, 7) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END AS sum_int_0, CASE WHEN fdsl_unit = 8 THEN {'t': ts_us, 'n0': "arrival_us" IS NOT NULL, 'v0': "arrival_us", 'n1': "u" IS NOT NULL, 'v1': "u", 'n2': "x" IS NOT NULL, 'v2': "x"} END AS r0, CASE WHEN fdsl_unit = 9 THEN {'t': ts_us, 'n0': "arrival_us" IS NOT NULL, 'v0': "arrival_us", 'n1': "u" IS NOT NULL, 'v1': "u", 'n2': "x" IS NOT NULL, 'v2': "x"} END AS r1
  FROM "timed" CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS fdsl_units(fdsl_unit) WHERE "u" IS NOT NULL AND CASE WHEN fdsl_unit IN (1) THEN GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) + 3600000000 WHEN fdsl_unit IN (2) THEN GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 1800000000) + 1800000000) % 1800000000)) + 5400000000 WHEN fdsl_unit IN (3) THEN GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) + 7200000000 WHEN fdsl_unit IN (5) THEN GREATEST(ts_us, arrival_us - 600000001) < (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) + 21600000000 WHEN fdsl_unit IN (7) THEN GREATEST(ts_us, arrival_us - 3600000001) < (ts_us - (((ts_us % 86400000000) + 86400000000) % 86400000000)) + 86400000000 ELSE TRUE END
  UNION ALL SELECT "u", fdsl_unit + fdsl_level, fdsl_block + fdsl_place // fdsl_step, CASE WHEN fdsl_unit IN (10) THEN GREATEST(ts_us, arrival_us - 1) WHEN fdsl_unit IN (17) THEN GREATEST(ts_us, arrival_us - 1) WHEN fdsl_unit IN (24) THEN GREATEST(ts_us, arrival_us - 600000001) WHEN fdsl_unit IN (31) THEN GREATEST(ts_us, arrival_us - 3600000001) WHEN fdsl_unit IN (38) THEN GREATEST(ts_us, arrival_us - 1) ELSE NULL END, CAST(NULL AS BIGINT), CASE WHEN fdsl_unit IN (10) THEN "x" ELSE CAST(NULL AS BIGINT) END, CASE WHEN fdsl_unit IN (10, 17, 24, 31, 38) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END, NULL, NULL
  FROM (SELECT *, CASE WHEN fdsl_unit IN (10) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (17) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (24) THEN (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) WHEN fdsl_unit IN (31) THEN (ts_us - (((ts_us % 86400000000) + 86400000000) % 86400000000)) WHEN fdsl_unit IN (38) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) ELSE NULL END AS fdsl_block, CASE WHEN fdsl_unit IN (10) THEN ((3600000000 - 1 - (((ts_us % 3600000000) + 3600000000) % 3600000000)) // 300000000) WHEN fdsl_unit IN (17) THEN ((3600000000 - 1 - (((ts_us % 3600000000) + 3600000000) % 3600000000)) // 1800000000) WHEN fdsl_unit IN (24) THEN ((21600000000 - 1 - (((ts_us % 21600000000) + 21600000000) % 21600000000)) // 300000000) WHEN fdsl_unit IN (31) THEN ((86400000000 - 1 - (((ts_us % 86400000000) + 86400000000) % 86400000000)) // 3600000000) WHEN fdsl_unit IN (38) THEN ((((ts_us % 3600000000) + 3600000000) % 3600000000) // 1800000000) ELSE NULL END AS fdsl_place FROM "timed" CROSS JOIN (VALUES (10), (17), (24), (31), (38)) AS fdsl_units(fdsl_unit) WHERE "u" IS NOT NULL AND CASE WHEN fdsl_unit IN (10) THEN NOT (GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) + 3600000000) AND GREATEST(ts_us, arrival_us - 1) < ts_us + 3900000000 WHEN fdsl_unit IN (17) THEN NOT (GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) + 7200000000) AND GREATEST(ts_us, arrival_us - 1) < ts_us + 9000000000 WHEN fdsl_unit IN (24) THEN NOT (GREATEST(ts_us, arrival_us - 600000001) < (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) + 21600000000) AND GREATEST(ts_us, arrival_us - 600000001) < ts_us + 21900000000 WHEN fdsl_unit IN (31) THEN NOT (GREATEST(ts_us, arrival_us - 3600000001) < (ts_us - (((ts_us % 86400000000) + 86400000000) % 86400000000)) + 86400000000) AND GREATEST(ts_us, arrival_us - 3600000001) < ts_us + 90000000000 WHEN fdsl_unit IN (38) THEN NOT (GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 1800000000) + 1800000000) % 1800000000)) + 5400000000) AND GREATEST(ts_us, arrival_us - 1) < ts_us + 9000000000 ELSE FALSE END) e CROSS JOIN (VALUES (0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 64)) AS fdsl_levels(fdsl_level, fdsl_step) WHERE fdsl_step <= CASE WHEN fdsl_unit IN (10) THEN 12 WHEN fdsl_unit IN (17) THEN 2 WHEN fdsl_unit IN (24) THEN 72 WHEN fdsl_unit IN (31) THEN 24 WHEN fdsl_unit IN (38) THEN 2 ELSE 0 END
  UNION ALL SELECT "u", fdsl_unit, CASE WHEN fdsl_unit IN (0) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (1) THEN (((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (2) THEN (((ts_us - 3600000000) - ((((ts_us - 3600000000) % 1800000000) + 1800000000) % 1800000000)) - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 1800000000) + 1800000000) % 1800000000)) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (3) THEN (((ts_us - 7200000000) - ((((ts_us - 7200000000) % 1800000000) + 1800000000) % 1800000000)) - (((((ts_us - 7200000000) - ((((ts_us - 7200000000) % 1800000000) + 1800000000) % 1800000000)) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (4) THEN (((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - (((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) % 21600000000) + 21600000000) % 21600000000)) WHEN fdsl_unit IN (5) THEN (((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) - (((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) % 21600000000) + 21600000000) % 21600000000)) WHEN fdsl_unit IN (6) THEN (((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) % 86400000000) + 86400000000) % 86400000000)) WHEN fdsl_unit IN (7) THEN (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) % 3600000000) + 3600000000) % 3600000000)) - (((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) % 3600000000) + 3600000000) % 3600000000)) % 86400000000) + 86400000000) % 86400000000)) ELSE 0 END, CASE WHEN fdsl_unit IN (0) THEN ts_us WHEN fdsl_unit IN (1) THEN 1 - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) WHEN fdsl_unit IN (2) THEN ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 1800000000) + 1800000000) % 1800000000)) WHEN fdsl_unit IN (3) THEN 1 - ((ts_us - 7200000000) - ((((ts_us - 7200000000) % 1800000000) + 1800000000) % 1800000000)) WHEN fdsl_unit IN (4) THEN ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (5) THEN 1 - ((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) WHEN fdsl_unit IN (6) THEN ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) WHEN fdsl_unit IN (7) THEN 1 - ((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (8) THEN ts_us WHEN fdsl_unit IN (9) THEN ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) ELSE NULL END, label_id, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), NULL, NULL
  FROM "labels" CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS fdsl_units(fdsl_unit)
  UNION ALL SELECT "u", fdsl_unit + fdsl_level, fdsl_block + fdsl_place // fdsl_step - 1, CASE WHEN fdsl_unit IN (10) THEN ts_us WHEN fdsl_unit IN (17) THEN ts_us WHEN fdsl_unit IN (24) THEN ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (31) THEN ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) WHEN fdsl_unit IN (38) THEN ts_us ELSE NULL END, label_id, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), NULL, NULL
  FROM (SELECT *, CASE WHEN fdsl_unit IN (10) THEN (((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (17) THEN (((ts_us - 7200000000) - ((((ts_us - 7200000000) % 1800000000) + 1800000000) % 1800000000)) - (((((ts_us - 7200000000) - ((((ts_us - 7200000000) % 1800000000) + 1800000000) % 1800000000)) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (24) THEN (((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) - (((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) % 21600000000) + 21600000000) % 21600000000)) WHEN fdsl_unit IN (31) THEN (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) % 3600000000) + 3600000000) % 3600000000)) - (((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) % 3600000000) + 3600000000) % 3600000000)) % 86400000000) + 86400000000) % 86400000000)) WHEN fdsl_unit IN (38) THEN (((ts_us - 3600000000) - ((((ts_us - 3600000000) % 1800000000) + 1800000000) % 1800000000)) - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 1800000000) + 1800000000) % 1800000000)) % 3600000000) + 3600000000) % 3600000000)) ELSE NULL END AS fdsl_block, CASE WHEN fdsl_unit IN (10) THEN ((3600000000 - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) % 3600000000) + 3600000000) % 3600000000)) // 300000000) WHEN fdsl_unit IN (17) THEN ((3600000000 - (((((ts_us - 7200000000) - ((((ts_us - 7200000000) % 1800000000) + 1800000000) % 1800000000)) % 3600000000) + 3600000000) % 3600000000)) // 1800000000) WHEN fdsl_unit IN (24) THEN ((21600000000 - (((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) % 21600000000) + 21600000000) % 21600000000)) // 300000000) WHEN fdsl_unit IN (31) THEN ((86400000000 - (((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 86400000000) % 3600000000) + 3600000000) % 3600000000)) % 86400000000) + 86400000000) % 86400000000)) // 3600000000) WHEN fdsl_unit IN (38) THEN ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 1800000000) + 1800000000) % 1800000000)) % 3600000000) + 3600000000) % 3600000000) // 1800000000) ELSE NULL END AS fdsl_place FROM "labels" CROSS JOIN (VALUES (10), (17), (24), (31), (38)) AS fdsl_units(fdsl_unit)) a CROSS JOIN (VALUES (0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 64)) AS fdsl_levels(fdsl_level, fdsl_step) WHERE (fdsl_place // fdsl_step) % 2 = 1),
running AS (SELECT label_id, fdsl_unit, o, MAX(max_int_0) OVER w AS max_int_0, SUM(sum_int_0) OVER w AS sum_int_0, MAX(r0) OVER w AS r0, MAX(r1) OVER w AS r1
  FROM stacked WINDOW w AS (PARTITION BY k0, fdsl_unit, b ORDER BY o RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
merged AS (SELECT label_id, CAST(SUM(CASE WHEN fdsl_unit IN (0, 1, 10, 11, 12, 13, 14, 15, 16) THEN sum_int_0 END) AS BIGINT) AS w0_p0, CAST(MAX(CASE WHEN fdsl_unit IN (0, 1, 10, 11, 12, 13, 14, 15, 16) THEN max_int_0 END) AS BIGINT) AS w0_p1, CAST(SUM(CASE WHEN fdsl_unit IN (2, 3, 17, 18, 19, 20, 21, 22, 23, 38, 39, 40, 41, 42, 43, 44) THEN sum_int_0 END) AS BIGINT) AS w1_p0, CAST(SUM(CASE WHEN fdsl_unit IN (4, 5, 24, 25, 26, 27, 28, 29, 30) THEN sum_int_0 END) AS BIGINT) AS w2_p0, CAST(SUM(CASE WHEN fdsl_unit IN (6, 7, 31, 32, 33, 34, 35, 36, 37) THEN sum_int_0 END) AS BIGINT) AS w3_p0, MAX(CASE WHEN fdsl_unit = 8 THEN r0 END) AS l0, MAX(CASE WHEN fdsl_unit = 8 THEN o END) AS l0_q, MAX(CASE WHEN fdsl_unit = 9 THEN r1 END) AS l1, MAX(CASE WHEN fdsl_unit = 9 THEN o END) AS l1_q
  FROM running WHERE label_id IS NOT NULL GROUP BY label_id)
SELECT label_id,
  COALESCE("w0_p0", CAST(0 AS BIGINT)) AS "arrived__n",
  "w0_p1" AS "arrived__high",
  COALESCE("w1_p0", CAST(0 AS BIGINT)) AS "arrived__before",
  COALESCE("w2_p0", CAST(0 AS BIGINT)) AS "arrived__hourly",
  COALESCE("w3_p0", CAST(0 AS BIGINT)) AS "arrived__daily",
  l0.v2 AS "arrived__last",
  CASE WHEN l1.t >= l1_q - 7200000000 THEN l1.v2 END AS "arrived__last_hourly"
FROM merged;

WITH "once__events" AS (
  SELECT "u", "id", "x", "n", "ts_us" FROM (SELECT "u", "id", "x", "n", "ts_us", ROW_NUMBER() OVER (PARTITION BY "id" ORDER BY ts_us, "n" IS NOT NULL, "n", "u" IS NOT NULL, "u", "id" IS NOT NULL, "id", "x" IS NOT NULL, "x") AS fdsl_n FROM "once" WHERE "id" IS NOT NULL) n WHERE fdsl_n = 1
  UNION ALL SELECT "u", "id", "x", "n", "ts_us" FROM "once" WHERE "id" IS NULL),
frames0 AS (
  SELECT label_id, CAST(SUM(v0) OVER f0 AS BIGINT) AS w0_p0, TRY_CAST(SUM(v1) OVER f0 AS BIGINT) AS w0_p1 FROM (
    SELECT label_id, "u" AS k0, ts_us AS o, ts_us - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ts_us AS e1, CAST(NULL AS BIGINT) AS v0, CAST(NULL AS BIGINT) AS v1 FROM "labels"
    UNION ALL SELECT NULL, "u" AS k0, ts_us, 1, 1, CAST(1 AS BIGINT), "x" FROM "once__events" WHERE "u" IS NOT NULL)
  WINDOW f0 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
hits0 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v3 FROM
    (SELECT label_id, "u" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "x" AS v3 FROM "once__events" WHERE "u" IS NOT NULL) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied0 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "once__events" WHERE "u" IS NOT NULL) e
  SEMI JOIN hits0 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best0 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "n" IS NOT NULL, 'v0': "n", 'n1': "u" IS NOT NULL, 'v1': "u", 'n2': "id" IS NOT NULL, 'v2': "id", 'n3': "x" IS NOT NULL, 'v3': "x", 'n4': "n" IS NOT NULL, 'v4': "n"} AS r FROM "once__events" WHERE "u" IS NOT NULL) e
  SEMI JOIN tied0 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest0 AS (
  SELECT label_id, {'t': h.t, 'v3': CASE WHEN b.t IS NULL THEN h.v3 ELSE b.r.v3 END} AS l0, o AS l0_q
  FROM hits0 h LEFT JOIN best0 b ON h.k0 = b.k0 AND h.t = b.t),
merged AS (SELECT * FROM frames0 JOIN latest0 USING (label_id))
SELECT label_id,
  COALESCE("w0_p0", CAST(0 AS BIGINT)) AS "unique__n",
  "w0_p1" AS "unique__total",
  l0.v3 AS "unique__last"
FROM merged;

WITH "resent__events" AS (
  WITH fdsl_a AS (SELECT "u", "id", "x", "ts_us", "arrival_us", arrival_us AS fdsl_x, LAG(arrival_us) OVER w AS fdsl_p FROM "resent" WHERE "id" IS NOT NULL WINDOW w AS (PARTITION BY "id" ORDER BY arrival_us, ts_us, "u" IS NOT NULL, "u", "id" IS NOT NULL, "id", "x" IS NOT NULL, "x")),
  fdsl_b AS (SELECT *, SUM(CASE WHEN fdsl_p IS NULL OR fdsl_x - fdsl_p > 3600000000 THEN 1 ELSE 0 END) OVER (PARTITION BY "id" ORDER BY fdsl_x) AS fdsl_i
    FROM fdsl_a WHERE fdsl_p IS NULL OR fdsl_p < fdsl_x),
  fdsl_c AS (SELECT *, MIN(fdsl_x) OVER i AS fdsl_first, MAX(fdsl_x) OVER i AS fdsl_last
    FROM fdsl_b WINDOW i AS (PARTITION BY "id", fdsl_i)),
  fdsl_d AS (SELECT "id" AS fdsl_k0, list_reduce(list_transform(list(fdsl_x ORDER BY fdsl_x), lambda x: [x]), lambda a, b: CASE WHEN b[1] > a[-1] + 3600000000 THEN a || b ELSE a END) AS fdsl_kept
    FROM fdsl_c WHERE fdsl_last - fdsl_first > 3600000000 GROUP BY "id", fdsl_i),
  fdsl_e AS (SELECT fdsl_k0, unnest(fdsl_kept) AS fdsl_t FROM fdsl_d)
  SELECT "u", "id", "x", "ts_us", "arrival_us" FROM fdsl_c WHERE fdsl_x = fdsl_first
  UNION ALL SELECT "u", "id", "x", "ts_us", "arrival_us" FROM fdsl_c JOIN fdsl_e ON "id" = fdsl_k0 AND fdsl_x = fdsl_t
    WHERE fdsl_x > fdsl_first
  UNION ALL SELECT "u", "id", "x", "ts_us", "arrival_us" FROM "resent" WHERE "id" IS NULL),
stacked AS (
  SELECT "u" AS k0, fdsl_unit, CASE WHEN fdsl_unit IN (0, 1) THEN (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) ELSE 0 END AS b, CASE WHEN fdsl_unit IN (1) THEN -ts_us WHEN fdsl_unit IN (0) THEN GREATEST(ts_us, arrival_us - 1) ELSE ts_us END AS o, CAST(NULL AS BIGINT) AS label_id, CASE WHEN fdsl_unit IN (0, 1) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END AS sum_int_0, CASE WHEN fdsl_unit IN (0, 1) THEN "x" ELSE CAST(NULL AS BIGINT) END AS sum_int_1
  FROM "resent__events" CROSS JOIN (VALUES (0), (1)) AS fdsl_units(fdsl_unit) WHERE "u" IS NOT NULL AND CASE WHEN fdsl_unit IN (1) THEN GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) + 21600000000 ELSE TRUE END
  UNION ALL SELECT "u", fdsl_unit + fdsl_level, fdsl_block + fdsl_place // fdsl_step, CASE WHEN fdsl_unit IN (2) THEN GREATEST(ts_us, arrival_us - 1) ELSE NULL END, CAST(NULL AS BIGINT), CASE WHEN fdsl_unit IN (2) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END, CASE WHEN fdsl_unit IN (2) THEN "x" ELSE CAST(NULL AS BIGINT) END
  FROM (SELECT *, CASE WHEN fdsl_unit IN (2) THEN (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) ELSE NULL END AS fdsl_block, CASE WHEN fdsl_unit IN (2) THEN ((21600000000 - 1 - (((ts_us % 21600000000) + 21600000000) % 21600000000)) // 3600000000) ELSE NULL END AS fdsl_place FROM "resent__events" CROSS JOIN (VALUES (2)) AS fdsl_units(fdsl_unit) WHERE "u" IS NOT NULL AND CASE WHEN fdsl_unit IN (2) THEN NOT (GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) + 21600000000) AND GREATEST(ts_us, arrival_us - 1) < ts_us + 25200000000 ELSE FALSE END) e CROSS JOIN (VALUES (0, 1), (1, 2), (2, 4)) AS fdsl_levels(fdsl_level, fdsl_step) WHERE fdsl_step <= CASE WHEN fdsl_unit IN (2) THEN 6 ELSE 0 END
  UNION ALL SELECT "u", fdsl_unit, CASE WHEN fdsl_unit IN (0) THEN (ts_us - (((ts_us % 21600000000) + 21600000000) % 21600000000)) WHEN fdsl_unit IN (1) THEN (((ts_us - 21600000000) - ((((ts_us - 21600000000) % 3600000000) + 3600000000) % 3600000000)) - (((((ts_us - 21600000000) - ((((ts_us - 21600000000) % 3600000000) + 3600000000) % 3600000000)) % 21600000000) + 21600000000) % 21600000000)) ELSE 0 END, CASE WHEN fdsl_unit IN (0) THEN ts_us WHEN fdsl_unit IN (1) THEN 1 - ((ts_us - 21600000000) - ((((ts_us - 21600000000) % 3600000000) + 3600000000) % 3600000000)) ELSE NULL END, label_id, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)
  FROM "labels" CROSS JOIN (VALUES (0), (1)) AS fdsl_units(fdsl_unit)
  UNION ALL SELECT "u", fdsl_unit + fdsl_level, fdsl_block + fdsl_place // fdsl_step - 1, CASE WHEN fdsl_unit IN (2) THEN ts_us ELSE NULL END, label_id, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)
  FROM (SELECT *, CASE WHEN fdsl_unit IN (2) THEN (((ts_us - 21600000000) - ((((ts_us - 21600000000) % 3600000000) + 3600000000) % 3600000000)) - (((((ts_us - 21600000000) - ((((ts_us - 21600000000) % 3600000000) + 3600000000) % 3600000000)) % 21600000000) + 21600000000) % 21600000000)) ELSE NULL END AS fdsl_block, CASE WHEN fdsl_unit IN (2) THEN ((21600000000 - (((((ts_us - 21600000000) - ((((ts_us - 21600000000) % 3600000000) + 3600000000) % 3600000000)) % 21600000000) + 21600000000) % 21600000000)) // 3600000000) ELSE NULL END AS fdsl_place FROM "labels" CROSS JOIN (VALUES (2)) AS fdsl_units(fdsl_unit)) a CROSS JOIN (VALUES (0, 1), (1, 2), (2, 4)) AS fdsl_levels(fdsl_level, fdsl_step) WHERE (fdsl_place // fdsl_step) % 2 = 1),
running AS (SELECT label_id, fdsl_unit, o, SUM(sum_int_0) OVER w AS sum_int_0, SUM(sum_int_1) OVER w AS sum_int_1
  FROM stacked WINDOW w AS (PARTITION BY k0, fdsl_unit, b ORDER BY o RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
merged AS (SELECT label_id, CAST(SUM(CASE WHEN fdsl_unit IN (0, 1, 2, 3, 4) THEN sum_int_0 END) AS BIGINT) AS w0_p0, TRY_CAST(SUM(CASE WHEN fdsl_unit IN (0, 1, 2, 3, 4) THEN sum_int_1 END) AS BIGINT) AS w0_p1
  FROM running WHERE label_id IS NOT NULL GROUP BY label_id)
SELECT label_id,
  COALESCE("w0_p0", CAST(0 AS BIGINT)) AS "resend__n",
  "w0_p1" AS "resend__total"
FROM merged;

WITH "anywhere__events" AS (
  SELECT "u", "x", ts_us, ts_us AS arrival_us FROM "web"
  UNION ALL SELECT "u", "x", ts_us, arrival_us FROM "app"),
stacked AS (
  SELECT "u" AS k0, fdsl_unit, CASE WHEN fdsl_unit IN (0, 1) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) ELSE 0 END AS b, CASE WHEN fdsl_unit IN (1) THEN -ts_us WHEN fdsl_unit IN (0) THEN GREATEST(ts_us, arrival_us - 1) WHEN fdsl_unit IN (2) THEN GREATEST(ts_us, arrival_us - 1) ELSE ts_us END AS o, CAST(NULL AS BIGINT) AS label_id, CASE WHEN fdsl_unit IN (0, 1) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END AS sum_int_0, CASE WHEN fdsl_unit = 2 THEN {'t': ts_us, 'n0': "arrival_us" IS NOT NULL, 'v0': "arrival_us", 'n1': "u" IS NOT NULL, 'v1': "u", 'n2': "x" IS NOT NULL, 'v2': "x"} END AS r0
  FROM "anywhere__events" CROSS JOIN (VALUES (0), (1), (2)) AS fdsl_units(fdsl_unit) WHERE "u" IS NOT NULL AND CASE WHEN fdsl_unit IN (1) THEN GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) + 3600000000 ELSE TRUE END
  UNION ALL SELECT "u", fdsl_unit + fdsl_level, fdsl_block + fdsl_place // fdsl_step, CASE WHEN fdsl_unit IN (3) THEN GREATEST(ts_us, arrival_us - 1) ELSE NULL END, CAST(NULL AS BIGINT), CASE WHEN fdsl_unit IN (3) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END, NULL
  FROM (SELECT *, CASE WHEN fdsl_unit IN (3) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) ELSE NULL END AS fdsl_block, CASE WHEN fdsl_unit IN (3) THEN ((3600000000 - 1 - (((ts_us % 3600000000) + 3600000000) % 3600000000)) // 300000000) ELSE NULL END AS fdsl_place FROM "anywhere__events" CROSS JOIN (VALUES (3)) AS fdsl_units(fdsl_unit) WHERE "u" IS NOT NULL AND CASE WHEN fdsl_unit IN (3) THEN NOT (GREATEST(ts_us, arrival_us - 1) < (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) + 3600000000) AND GREATEST(ts_us, arrival_us - 1) < ts_us + 3900000000 ELSE FALSE END) e CROSS JOIN (VALUES (0, 1), (1, 2), (2, 4), (3, 8)) AS fdsl_levels(fdsl_level, fdsl_step) WHERE fdsl_step <= CASE WHEN fdsl_unit IN (3) THEN 12 ELSE 0 END
  UNION ALL SELECT "u", fdsl_unit, CASE WHEN fdsl_unit IN (0) THEN (ts_us - (((ts_us % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (1) THEN (((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) % 3600000000) + 3600000000) % 3600000000)) ELSE 0 END, CASE WHEN fdsl_unit IN (0) THEN ts_us WHEN fdsl_unit IN (1) THEN 1 - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) WHEN fdsl_unit IN (2) THEN ts_us ELSE NULL END, label_id, CAST(NULL AS BIGINT), NULL
  FROM "labels" CROSS JOIN (VALUES (0), (1), (2)) AS fdsl_units(fdsl_unit)
  UNION ALL SELECT "u", fdsl_unit + fdsl_level, fdsl_block + fdsl_place // fdsl_step - 1, CASE WHEN fdsl_unit IN (3) THEN ts_us ELSE NULL END, label_id, CAST(NULL AS BIGINT), NULL
  FROM (SELECT *, CASE WHEN fdsl_unit IN (3) THEN (((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) % 3600000000) + 3600000000) % 3600000000)) ELSE NULL END AS fdsl_block, CASE WHEN fdsl_unit IN (3) THEN ((3600000000 - (((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) % 3600000000) + 3600000000) % 3600000000)) // 300000000) ELSE NULL END AS fdsl_place FROM "labels" CROSS JOIN (VALUES (3)) AS fdsl_units(fdsl_unit)) a CROSS JOIN (VALUES (0, 1), (1, 2), (2, 4), (3, 8)) AS fdsl_levels(fdsl_level, fdsl_step) WHERE (fdsl_place // fdsl_step) % 2 = 1),
running AS (SELECT label_id, fdsl_unit, o, SUM(sum_int_0) OVER w AS sum_int_0, MAX(r0) OVER w AS r0
  FROM stacked WINDOW w AS (PARTITION BY k0, fdsl_unit, b ORDER BY o RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
merged AS (SELECT label_id, CAST(SUM(CASE WHEN fdsl_unit IN (0, 1, 3, 4, 5, 6) THEN sum_int_0 END) AS BIGINT) AS w0_p0, MAX(CASE WHEN fdsl_unit = 2 THEN r0 END) AS l0, MAX(CASE WHEN fdsl_unit = 2 THEN o END) AS l0_q
  FROM running WHERE label_id IS NOT NULL GROUP BY label_id)
SELECT label_id,
  COALESCE("w0_p0", CAST(0 AS BIGINT)) AS "everywhere__n",
  l0.v2 AS "everywhere__last"
FROM merged;

WITH "buys+items__events" AS (
  SELECT "u", "item", "shop", "n", "ts_us", fdsl_row.v0 AS "price", fdsl_row.v1 AS "kind"
  FROM (SELECT "u", "item", "shop", "n", "ts_us", fdsl_event, MAX(fdsl_row) OVER (PARTITION BY fdsl_k0 ORDER BY ts_us RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS fdsl_row
    FROM (SELECT "item" AS fdsl_k0, TRUE AS fdsl_event, "u", "item", "shop", "n", "ts_us", NULL AS fdsl_row FROM "buys"
      UNION ALL SELECT "item", FALSE, CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), CAST(NULL AS BIGINT), ts_us, {'t': ts_us, 'n0': "price" IS NOT NULL, 'v0': "price", 'n1': "kind" IS NOT NULL, 'v1': "kind"} FROM "items" WHERE "item" IS NOT NULL) u) r
  WHERE fdsl_event),
"buys+item_items__events" AS (
  SELECT "u", "item", "shop", "n", "ts_us", fdsl_row.v0 AS "item_price", fdsl_row.v1 AS "item_kind"
  FROM (SELECT "u", "item", "shop", "n", "ts_us", fdsl_event, MAX(fdsl_row) OVER (PARTITION BY fdsl_k0 ORDER BY ts_us RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS fdsl_row
    FROM (SELECT "item" AS fdsl_k0, TRUE AS fdsl_event, "u", "item", "shop", "n", "ts_us", NULL AS fdsl_row FROM "buys"
      UNION ALL SELECT "item", FALSE, CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), CAST(NULL AS BIGINT), ts_us, {'t': ts_us, 'n0': "price" IS NOT NULL, 'v0': "price", 'n1': "kind" IS NOT NULL, 'v1': "kind"} FROM "items" WHERE "item" IS NOT NULL) u) r
  WHERE fdsl_event),
"buys+offered_offers__events" AS (
  SELECT "u", "item", "shop", "n", "ts_us", fdsl_row.v0 AS "offered_n"
  FROM (SELECT "u", "item", "shop", "n", "ts_us", fdsl_event, MAX(fdsl_row) OVER (PARTITION BY fdsl_k0, fdsl_k1 ORDER BY ts_us RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS fdsl_row
    FROM (SELECT "item" AS fdsl_k0, "shop" AS fdsl_k1, TRUE AS fdsl_event, "u", "item", "shop", "n", "ts_us", NULL AS fdsl_row FROM "buys"
      UNION ALL SELECT "item", "shop", FALSE, CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR), CAST(NULL AS BIGINT), ts_us, {'t': ts_us, 'n0': "n" IS NOT NULL, 'v0': "n"} FROM "offers" WHERE "item" IS NOT NULL AND "shop" IS NOT NULL) u) r
  WHERE fdsl_event),
frames0 AS (
  SELECT label_id, TRY_CAST(SUM(v0) OVER f0 AS BIGINT) AS w0_p0 FROM (
    SELECT label_id, "u" AS k0, ts_us AS o, ts_us - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ts_us AS e1, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "u" AS k0, ts_us, 1, 1, CASE WHEN "n" > 0 THEN CASE WHEN "price" BETWEEN ((-9223372036854775807 - 1) // NULLIF("n", 0)) AND (9223372036854775807 // NULLIF("n", 0)) THEN ("price" * "n") END WHEN "n" < -1 THEN CASE WHEN "price" BETWEEN (9223372036854775807 // NULLIF("n", 0)) AND ((-9223372036854775807 - 1) // NULLIF(NULLIF("n", 0), -1)) THEN ("price" * "n") END WHEN "n" = -1 THEN CASE WHEN "price" > (-9223372036854775807 - 1) THEN ("price" * "n") END ELSE ("price" * "n") END FROM "buys+items__events" WHERE "u" IS NOT NULL)
  WINDOW f0 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
frames1 AS (
  SELECT label_id, CAST(SUM(v0) OVER f1 AS BIGINT) AS w1_p0 FROM (
    SELECT label_id, "u" AS k0, ts_us AS o, ts_us - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ts_us AS e1, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "u" AS k0, ts_us, 1, 1, CASE WHEN ("n" > CAST(0 AS BIGINT)) THEN CASE WHEN ("item_kind" IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END ELSE CAST(NULL AS BIGINT) END FROM "buys+item_items__events" WHERE "u" IS NOT NULL)
  WINDOW f1 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
frames2 AS (
  SELECT label_id, CAST(SUM(v0) OVER f2 AS BIGINT) AS w2_p0 FROM (
    SELECT label_id, "u" AS k0, ts_us AS o, ts_us - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ts_us AS e1, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "u" AS k0, ts_us, 1, 1, CAST(1 AS BIGINT) FROM "buys" WHERE "u" IS NOT NULL)
  WINDOW f2 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
hits0 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v5 FROM
    (SELECT label_id, "u" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "kind" AS v5 FROM "buys+items__events" WHERE "u" IS NOT NULL) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied0 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "buys+items__events" WHERE "u" IS NOT NULL) e
  SEMI JOIN hits0 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best0 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "u" IS NOT NULL, 'v0': "u", 'n1': "item" IS NOT NULL, 'v1': "item", 'n2': "shop" IS NOT NULL, 'v2': "shop", 'n3': "n" IS NOT NULL, 'v3': "n", 'n4': "price" IS NOT NULL, 'v4': "price", 'n5': "kind" IS NOT NULL, 'v5': "kind"} AS r FROM "buys+items__events" WHERE "u" IS NOT NULL) e
  SEMI JOIN tied0 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest0 AS (
  SELECT label_id, {'t': h.t, 'v5': CASE WHEN b.t IS NULL THEN h.v5 ELSE b.r.v5 END} AS l0, o AS l0_q
  FROM hits0 h LEFT JOIN best0 b ON h.k0 = b.k0 AND h.t = b.t),
hits1 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v0 FROM
    (SELECT label_id, "u" AS k0, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "u" AS k0, ts_us AS t, "offered_n" AS v0 FROM "buys+offered_offers__events" WHERE "u" IS NOT NULL AND ((NOT ("offered_n" IS NULL)))) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied1 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "u" AS k0, ts_us AS t FROM "buys+offered_offers__events" WHERE "u" IS NOT NULL AND ((NOT ("offered_n" IS NULL)))) e
  SEMI JOIN hits1 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best1 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "u" AS k0, ts_us AS t, {'t': ts_us, 'n0': "offered_n" IS NOT NULL, 'v0': "offered_n"} AS r FROM "buys+offered_offers__events" WHERE "u" IS NOT NULL AND ((NOT ("offered_n" IS NULL)))) e
  SEMI JOIN tied1 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest1 AS (
  SELECT label_id, {'t': h.t, 'v0': CASE WHEN b.t IS NULL THEN h.v0 ELSE b.r.v0 END} AS l1, o AS l1_q
  FROM hits1 h LEFT JOIN best1 b ON h.k0 = b.k0 AND h.t = b.t),
merged AS (SELECT * FROM frames0 JOIN frames1 USING (label_id) JOIN frames2 USING (label_id) JOIN latest0 USING (label_id) JOIN latest1 USING (label_id))
SELECT label_id,
  "w0_p0" AS "bought__spend",
  COALESCE("w1_p0", CAST(0 AS BIGINT)) AS "bought__books",
  l0.v5 AS "bought__last_kind",
  l1.v0 AS "bought__offered",
  COALESCE("w2_p0", CAST(0 AS BIGINT)) AS "bought__n"
FROM merged;
