WITH frames0 AS (
  SELECT label_id, CAST(SUM(v0) OVER f0 AS BIGINT) AS w0_p0, CAST(SUM(v0) OVER f1 AS BIGINT) AS w1_p0, CAST(SUM(v1) OVER f1 AS DOUBLE) AS w1_p1, CAST(SUM(v2) OVER f1 AS BIGINT) AS w1_p2 FROM (
    SELECT label_id, "segment" AS k0, ts_us AS o, ts_us - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ((ts_us - 86400000000) - ((((ts_us - 86400000000) % 3600000000) + 3600000000) % 3600000000)) AS e2, ts_us - ts_us AS e1, ts_us - ts_us AS e3, CAST(NULL AS BIGINT) AS v0, CAST(NULL AS DOUBLE) AS v1, CAST(NULL AS BIGINT) AS v2 FROM "labels"
    UNION ALL SELECT NULL, "segment" AS k0, ts_us, 1, 1, 1, 1, CAST(1 AS BIGINT), "affinity", CASE WHEN ("affinity" IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END FROM "exposures" WHERE "segment" IS NOT NULL)
  WINDOW f0 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING),
    f1 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e2 PRECEDING AND (e3 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
frames1 AS (
  SELECT label_id, CAST(SUM(v0) OVER f2 AS BIGINT) AS w2_p0, CAST(SUM(v0) OVER f3 AS BIGINT) AS w3_p0 FROM (
    SELECT label_id, "segment" AS k0, ts_us AS o, ts_us - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ((ts_us - 86400000000) - ((((ts_us - 86400000000) % 3600000000) + 3600000000) % 3600000000)) AS e2, ts_us - ts_us AS e1, ts_us - ts_us AS e3, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "segment" AS k0, ts_us, 1, 1, 1, 1, CAST(1 AS BIGINT) FROM "clicks" WHERE "segment" IS NOT NULL)
  WINDOW f2 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING),
    f3 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e2 PRECEDING AND (e3 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
frames2 AS (
  SELECT label_id, CAST(SUM(v0) OVER f4 AS BIGINT) AS w4_p0 FROM (
    SELECT label_id, "segment" AS k0, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) AS o, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - ((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) AS e0, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) AS e1, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "segment" AS k0, ts_us, 1, 1, CAST(1 AS BIGINT) FROM "exposures" WHERE "segment" IS NOT NULL)
  WINDOW f4 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
frames3 AS (
  SELECT label_id, CAST(SUM(v0) OVER f5 AS BIGINT) AS w5_p0 FROM (
    SELECT label_id, "segment" AS k0, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) AS o, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - ((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 172800000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 172800000000) % 3600000000) + 3600000000) % 3600000000)) AS e0, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) AS e1, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "segment" AS k0, ts_us, 1, 1, CAST(1 AS BIGINT) FROM "exposures" WHERE "segment" IS NOT NULL)
  WINDOW f5 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
hits0 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v3 FROM
    (SELECT label_id, "segment" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "segment" AS k0, ts_us AS t, "item_id" AS v3 FROM "exposures" WHERE "segment" IS NOT NULL) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied0 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "segment" AS k0, ts_us AS t FROM "exposures" WHERE "segment" IS NOT NULL) e
  SEMI JOIN hits0 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best0 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "segment" AS k0, ts_us AS t, {'t': ts_us, 'n0': "event_id" IS NOT NULL, 'v0': "event_id", 'n1': "slot_id" IS NOT NULL, 'v1': "slot_id", 'n2': "segment" IS NOT NULL, 'v2': "segment", 'n3': "item_id" IS NOT NULL, 'v3': "item_id", 'n4': "policy" IS NOT NULL, 'v4': "policy", 'n5': "position" IS NOT NULL, 'v5': "position", 'n6': "affinity" IS NOT NULL, 'v6': "affinity"} AS r FROM "exposures" WHERE "segment" IS NOT NULL) e
  SEMI JOIN tied0 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest0 AS (
  SELECT label_id, {'t': h.t, 'v3': CASE WHEN b.t IS NULL THEN h.v3 ELSE b.r.v3 END} AS l0, o AS l0_q
  FROM hits0 h LEFT JOIN best0 b ON h.k0 = b.k0 AND h.t = b.t),
merged AS (SELECT * FROM frames0 JOIN frames1 USING (label_id) JOIN frames2 USING (label_id) JOIN frames3 USING (label_id) JOIN latest0 USING (label_id))
SELECT label_id,
  COALESCE("w0_p0", CAST(0 AS BIGINT)) AS "segment__views_1h",
  COALESCE("w1_p0", CAST(0 AS BIGINT)) AS "segment__views_24h",
  COALESCE("w2_p0", CAST(0 AS BIGINT)) AS "segment__clicks_1h",
  COALESCE("w3_p0", CAST(0 AS BIGINT)) AS "segment__clicks_24h",
  COALESCE((CAST(CAST(COALESCE("w3_p0", CAST(0 AS BIGINT)) AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST(COALESCE("w1_p0", CAST(0 AS BIGINT)) AS DOUBLE) AS DOUBLE), 0e0)), 0.0e0) AS "segment__ctr",
  CASE WHEN (CAST(CAST("w1_p1" AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST("w1_p2" AS DOUBLE) AS DOUBLE), 0e0)) BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN (CAST(CAST("w1_p1" AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST("w1_p2" AS DOUBLE) AS DOUBLE), 0e0)) END AS "segment__affinity_mean",
  CASE WHEN l0.t >= l0_q - 604800000000 THEN l0.v3 END AS "segment__last_item",
  COALESCE("w4_p0", CAST(0 AS BIGINT)) AS "segment__views_6h",
  COALESCE("w5_p0", CAST(0 AS BIGINT)) AS "segment__views_2d"
FROM merged;

WITH frames0 AS (
  SELECT label_id, CAST(SUM(v0) OVER f0 AS BIGINT) AS w0_p0, CAST(SUM(v0) OVER f1 AS BIGINT) AS w1_p0 FROM (
    SELECT label_id, "item_id" AS k0, ts_us AS o, ts_us - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ((ts_us - 86400000000) - ((((ts_us - 86400000000) % 3600000000) + 3600000000) % 3600000000)) AS e2, ts_us - ts_us AS e1, ts_us - ts_us AS e3, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "item_id" AS k0, ts_us, 1, 1, 1, 1, CAST(1 AS BIGINT) FROM "exposures" WHERE "item_id" IS NOT NULL)
  WINDOW f0 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING),
    f1 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e2 PRECEDING AND (e3 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
frames1 AS (
  SELECT label_id, CAST(SUM(v0) OVER f2 AS BIGINT) AS w2_p0, CAST(SUM(v0) OVER f3 AS BIGINT) AS w3_p0 FROM (
    SELECT label_id, "item_id" AS k0, ts_us AS o, ts_us - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS e0, ts_us - ((ts_us - 86400000000) - ((((ts_us - 86400000000) % 3600000000) + 3600000000) % 3600000000)) AS e2, ts_us - ts_us AS e1, ts_us - ts_us AS e3, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "item_id" AS k0, ts_us, 1, 1, 1, 1, CAST(1 AS BIGINT) FROM "clicks" WHERE "item_id" IS NOT NULL)
  WINDOW f2 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING),
    f3 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e2 PRECEDING AND (e3 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
frames2 AS (
  SELECT label_id, CAST(SUM(v0) OVER f4 AS BIGINT) AS w4_p0 FROM (
    SELECT label_id, "item_id" AS k0, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) AS o, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - ((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) AS e0, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) AS e1, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "item_id" AS k0, ts_us, 1, 1, CAST(1 AS BIGINT) FROM "exposures" WHERE "item_id" IS NOT NULL)
  WINDOW f4 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
frames3 AS (
  SELECT label_id, CAST(SUM(v0) OVER f5 AS BIGINT) AS w5_p0 FROM (
    SELECT label_id, "item_id" AS k0, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) AS o, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - ((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 172800000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 172800000000) % 3600000000) + 3600000000) % 3600000000)) AS e0, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) AS e1, CAST(NULL AS BIGINT) AS v0 FROM "labels"
    UNION ALL SELECT NULL, "item_id" AS k0, ts_us, 1, 1, CAST(1 AS BIGINT) FROM "exposures" WHERE "item_id" IS NOT NULL)
  WINDOW f5 AS (PARTITION BY k0 ORDER BY o RANGE BETWEEN e0 PRECEDING AND (e1 + 1) PRECEDING)
  QUALIFY label_id IS NOT NULL),
hits0 AS MATERIALIZED (
  SELECT label_id, l.k0, o, t, v2 FROM
    (SELECT label_id, "item_id" AS k0, ts_us AS o FROM "labels") l ASOF LEFT JOIN
    (SELECT "item_id" AS k0, ts_us AS t, "segment" AS v2 FROM "exposures" WHERE "item_id" IS NOT NULL) e
    ON l.k0 = e.k0 AND l.o > e.t),
tied0 AS MATERIALIZED (
  SELECT k0, t FROM (SELECT "item_id" AS k0, ts_us AS t FROM "exposures" WHERE "item_id" IS NOT NULL) e
  SEMI JOIN hits0 h ON e.k0 = h.k0 AND e.t = h.t GROUP BY k0, t HAVING COUNT(*) > 1),
best0 AS (
  SELECT k0, t, MAX(r) AS r
  FROM (SELECT "item_id" AS k0, ts_us AS t, {'t': ts_us, 'n0': "event_id" IS NOT NULL, 'v0': "event_id", 'n1': "slot_id" IS NOT NULL, 'v1': "slot_id", 'n2': "segment" IS NOT NULL, 'v2': "segment", 'n3': "item_id" IS NOT NULL, 'v3': "item_id", 'n4': "policy" IS NOT NULL, 'v4': "policy", 'n5': "position" IS NOT NULL, 'v5': "position", 'n6': "affinity" IS NOT NULL, 'v6': "affinity"} AS r FROM "exposures" WHERE "item_id" IS NOT NULL) e
  SEMI JOIN tied0 d ON e.k0 = d.k0 AND e.t = d.t GROUP BY k0, t),
latest0 AS (
  SELECT label_id, {'t': h.t, 'v2': CASE WHEN b.t IS NULL THEN h.v2 ELSE b.r.v2 END} AS l0, o AS l0_q
  FROM hits0 h LEFT JOIN best0 b ON h.k0 = b.k0 AND h.t = b.t),
merged AS (SELECT * FROM frames0 JOIN frames1 USING (label_id) JOIN frames2 USING (label_id) JOIN frames3 USING (label_id) JOIN latest0 USING (label_id))
SELECT label_id,
  COALESCE("w0_p0", CAST(0 AS BIGINT)) AS "item__views_1h",
  COALESCE("w1_p0", CAST(0 AS BIGINT)) AS "item__views_24h",
  COALESCE("w2_p0", CAST(0 AS BIGINT)) AS "item__clicks_1h",
  COALESCE("w3_p0", CAST(0 AS BIGINT)) AS "item__clicks_24h",
  COALESCE((CAST(CAST(COALESCE("w3_p0", CAST(0 AS BIGINT)) AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST(COALESCE("w1_p0", CAST(0 AS BIGINT)) AS DOUBLE) AS DOUBLE), 0e0)), 0.0e0) AS "item__ctr",
  CASE WHEN l0.t >= l0_q - 604800000000 THEN l0.v2 END AS "item__last_segment",
  COALESCE("w4_p0", CAST(0 AS BIGINT)) AS "item__views_6h",
  COALESCE("w5_p0", CAST(0 AS BIGINT)) AS "item__views_2d"
FROM merged;
