WITH w0_events AS (SELECT `segment`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `exposures` WHERE `segment` IS NOT NULL),
w0_asked AS (SELECT label_id, `segment`, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS low, ts_us AS high FROM `labels`),
w0_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 3600000000) + 3600000000) % 3600000000)) AS block, k, label_id, p0 FROM w0_events UNION ALL SELECT `segment`, (high - (((high % 3600000000) + 3600000000) % 3600000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w0_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 3600000000) + 3600000000) % 3600000000)) AS block, k, label_id, p0 FROM w0_events UNION ALL SELECT `segment`, (low - (((low % 3600000000) + 3600000000) % 3600000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w0_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w0 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w0_running WHERE label_id IS NOT NULL GROUP BY label_id),
w1_events AS (SELECT `segment`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0, `affinity` AS p1, CASE WHEN (`affinity` IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END AS p2
  FROM `exposures` WHERE `segment` IS NOT NULL),
w1_asked AS (SELECT label_id, `segment`, ((ts_us - 86400000000) - ((((ts_us - 86400000000) % 3600000000) + 3600000000) % 3600000000)) AS low, ts_us AS high FROM `labels`),
w1_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0, SUM(p1) OVER w AS p1, SUM(p2) OVER w AS p2 FROM (SELECT `segment`, (k - (((k % 86400000000) + 86400000000) % 86400000000)) AS block, k, label_id, p0, p1, p2 FROM w1_events UNION ALL SELECT `segment`, (high - (((high % 86400000000) + 86400000000) % 86400000000)), high, label_id, CAST(NULL AS BIGINT) AS p0, CAST(NULL AS DOUBLE) AS p1, CAST(NULL AS BIGINT) AS p2 FROM w1_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0, SUM(p1) OVER w AS p1, SUM(p2) OVER w AS p2 FROM (SELECT `segment`, (k - (((k % 86400000000) + 86400000000) % 86400000000)) AS block, k, label_id, p0, p1, p2 FROM w1_events UNION ALL SELECT `segment`, (low - (((low % 86400000000) + 86400000000) % 86400000000)), low, label_id, CAST(NULL AS BIGINT) AS p0, CAST(NULL AS DOUBLE) AS p1, CAST(NULL AS BIGINT) AS p2 FROM w1_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w1 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0, CAST(SUM(p1) AS DOUBLE) AS p1, CAST(SUM(p2) AS BIGINT) AS p2 FROM w1_running WHERE label_id IS NOT NULL GROUP BY label_id),
w2_events AS (SELECT `segment`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `clicks` WHERE `segment` IS NOT NULL),
w2_asked AS (SELECT label_id, `segment`, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS low, ts_us AS high FROM `labels`),
w2_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 3600000000) + 3600000000) % 3600000000)) AS block, k, label_id, p0 FROM w2_events UNION ALL SELECT `segment`, (high - (((high % 3600000000) + 3600000000) % 3600000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w2_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 3600000000) + 3600000000) % 3600000000)) AS block, k, label_id, p0 FROM w2_events UNION ALL SELECT `segment`, (low - (((low % 3600000000) + 3600000000) % 3600000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w2_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w2 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w2_running WHERE label_id IS NOT NULL GROUP BY label_id),
w3_events AS (SELECT `segment`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `clicks` WHERE `segment` IS NOT NULL),
w3_asked AS (SELECT label_id, `segment`, ((ts_us - 86400000000) - ((((ts_us - 86400000000) % 3600000000) + 3600000000) % 3600000000)) AS low, ts_us AS high FROM `labels`),
w3_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 86400000000) + 86400000000) % 86400000000)) AS block, k, label_id, p0 FROM w3_events UNION ALL SELECT `segment`, (high - (((high % 86400000000) + 86400000000) % 86400000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w3_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 86400000000) + 86400000000) % 86400000000)) AS block, k, label_id, p0 FROM w3_events UNION ALL SELECT `segment`, (low - (((low % 86400000000) + 86400000000) % 86400000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w3_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w3 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w3_running WHERE label_id IS NOT NULL GROUP BY label_id),
w4_events AS (SELECT `segment`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `exposures` WHERE `segment` IS NOT NULL),
w4_asked AS (SELECT label_id, `segment`, ((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) AS low, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) AS high FROM `labels`),
w4_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 21600000000) + 21600000000) % 21600000000)) AS block, k, label_id, p0 FROM w4_events UNION ALL SELECT `segment`, (high - (((high % 21600000000) + 21600000000) % 21600000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w4_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 21600000000) + 21600000000) % 21600000000)) AS block, k, label_id, p0 FROM w4_events UNION ALL SELECT `segment`, (low - (((low % 21600000000) + 21600000000) % 21600000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w4_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w4 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w4_running WHERE label_id IS NOT NULL GROUP BY label_id),
w5_events AS (SELECT `segment`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `exposures` WHERE `segment` IS NOT NULL),
w5_asked AS (SELECT label_id, `segment`, ((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 172800000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 172800000000) % 3600000000) + 3600000000) % 3600000000)) AS low, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) AS high FROM `labels`),
w5_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 172800000000) + 172800000000) % 172800000000)) AS block, k, label_id, p0 FROM w5_events UNION ALL SELECT `segment`, (high - (((high % 172800000000) + 172800000000) % 172800000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w5_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `segment`, (k - (((k % 172800000000) + 172800000000) % 172800000000)) AS block, k, label_id, p0 FROM w5_events UNION ALL SELECT `segment`, (low - (((low % 172800000000) + 172800000000) % 172800000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w5_asked) s WINDOW w AS (PARTITION BY `segment`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w5 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w5_running WHERE label_id IS NOT NULL GROUP BY label_id),
l0_rows AS (SELECT `segment`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, named_struct('t', ts_us, 'n0', `event_id` IS NOT NULL, 'v0', `event_id`, 'n1', `slot_id` IS NOT NULL, 'v1', `slot_id`, 'n2', `segment` IS NOT NULL, 'v2', `segment`, 'n3', `item_id` IS NOT NULL, 'v3', `item_id`, 'n4', `policy` IS NOT NULL, 'v4', `policy`, 'n5', `position` IS NOT NULL, 'v5', `position`, 'n6', `affinity` IS NOT NULL, 'v6', `affinity`) AS r
  FROM `exposures` WHERE `segment` IS NOT NULL
  UNION ALL SELECT `segment`, ts_us, label_id, NULL FROM `labels`),
l0_running AS (SELECT label_id, k, MAX(r) OVER (PARTITION BY `segment` ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS r FROM l0_rows),
l0 AS (SELECT label_id, k, r FROM l0_running WHERE label_id IS NOT NULL)
SELECT l.label_id,
  COALESCE(`w0`.`p0`, CAST(0 AS BIGINT)) AS `segment__views_1h`,
  COALESCE(`w1`.`p0`, CAST(0 AS BIGINT)) AS `segment__views_24h`,
  COALESCE(`w2`.`p0`, CAST(0 AS BIGINT)) AS `segment__clicks_1h`,
  COALESCE(`w3`.`p0`, CAST(0 AS BIGINT)) AS `segment__clicks_24h`,
  COALESCE((CAST(CAST(COALESCE(`w3`.`p0`, CAST(0 AS BIGINT)) AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST(COALESCE(`w1`.`p0`, CAST(0 AS BIGINT)) AS DOUBLE) AS DOUBLE), 0e0)), 0.0e0) AS `segment__ctr`,
  (CAST(CAST(`w1`.`p1` AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST(`w1`.`p2` AS DOUBLE) AS DOUBLE), 0e0)) AS `segment__affinity_mean`,
  CASE WHEN l0.r.t >= l0.k - 604800000000 THEN l0.r.v3 END AS `segment__last_item`,
  COALESCE(`w4`.`p0`, CAST(0 AS BIGINT)) AS `segment__views_6h`,
  COALESCE(`w5`.`p0`, CAST(0 AS BIGINT)) AS `segment__views_2d`
FROM `labels` l
LEFT JOIN w0 ON w0.label_id = l.label_id
LEFT JOIN w1 ON w1.label_id = l.label_id
LEFT JOIN w2 ON w2.label_id = l.label_id
LEFT JOIN w3 ON w3.label_id = l.label_id
LEFT JOIN w4 ON w4.label_id = l.label_id
LEFT JOIN w5 ON w5.label_id = l.label_id
LEFT JOIN l0 ON l0.label_id = l.label_id;

WITH w0_events AS (SELECT `item_id`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `exposures` WHERE `item_id` IS NOT NULL),
w0_asked AS (SELECT label_id, `item_id`, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS low, ts_us AS high FROM `labels`),
w0_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 3600000000) + 3600000000) % 3600000000)) AS block, k, label_id, p0 FROM w0_events UNION ALL SELECT `item_id`, (high - (((high % 3600000000) + 3600000000) % 3600000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w0_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 3600000000) + 3600000000) % 3600000000)) AS block, k, label_id, p0 FROM w0_events UNION ALL SELECT `item_id`, (low - (((low % 3600000000) + 3600000000) % 3600000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w0_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w0 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w0_running WHERE label_id IS NOT NULL GROUP BY label_id),
w1_events AS (SELECT `item_id`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `exposures` WHERE `item_id` IS NOT NULL),
w1_asked AS (SELECT label_id, `item_id`, ((ts_us - 86400000000) - ((((ts_us - 86400000000) % 3600000000) + 3600000000) % 3600000000)) AS low, ts_us AS high FROM `labels`),
w1_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 86400000000) + 86400000000) % 86400000000)) AS block, k, label_id, p0 FROM w1_events UNION ALL SELECT `item_id`, (high - (((high % 86400000000) + 86400000000) % 86400000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w1_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 86400000000) + 86400000000) % 86400000000)) AS block, k, label_id, p0 FROM w1_events UNION ALL SELECT `item_id`, (low - (((low % 86400000000) + 86400000000) % 86400000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w1_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w1 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w1_running WHERE label_id IS NOT NULL GROUP BY label_id),
w2_events AS (SELECT `item_id`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `clicks` WHERE `item_id` IS NOT NULL),
w2_asked AS (SELECT label_id, `item_id`, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 300000000) + 300000000) % 300000000)) AS low, ts_us AS high FROM `labels`),
w2_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 3600000000) + 3600000000) % 3600000000)) AS block, k, label_id, p0 FROM w2_events UNION ALL SELECT `item_id`, (high - (((high % 3600000000) + 3600000000) % 3600000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w2_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 3600000000) + 3600000000) % 3600000000)) AS block, k, label_id, p0 FROM w2_events UNION ALL SELECT `item_id`, (low - (((low % 3600000000) + 3600000000) % 3600000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w2_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w2 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w2_running WHERE label_id IS NOT NULL GROUP BY label_id),
w3_events AS (SELECT `item_id`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `clicks` WHERE `item_id` IS NOT NULL),
w3_asked AS (SELECT label_id, `item_id`, ((ts_us - 86400000000) - ((((ts_us - 86400000000) % 3600000000) + 3600000000) % 3600000000)) AS low, ts_us AS high FROM `labels`),
w3_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 86400000000) + 86400000000) % 86400000000)) AS block, k, label_id, p0 FROM w3_events UNION ALL SELECT `item_id`, (high - (((high % 86400000000) + 86400000000) % 86400000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w3_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 86400000000) + 86400000000) % 86400000000)) AS block, k, label_id, p0 FROM w3_events UNION ALL SELECT `item_id`, (low - (((low % 86400000000) + 86400000000) % 86400000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w3_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w3 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w3_running WHERE label_id IS NOT NULL GROUP BY label_id),
w4_events AS (SELECT `item_id`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `exposures` WHERE `item_id` IS NOT NULL),
w4_asked AS (SELECT label_id, `item_id`, ((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) - ((((((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) - 21600000000) % 300000000) + 300000000) % 300000000)) AS low, ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) AS high FROM `labels`),
w4_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 21600000000) + 21600000000) % 21600000000)) AS block, k, label_id, p0 FROM w4_events UNION ALL SELECT `item_id`, (high - (((high % 21600000000) + 21600000000) % 21600000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w4_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 21600000000) + 21600000000) % 21600000000)) AS block, k, label_id, p0 FROM w4_events UNION ALL SELECT `item_id`, (low - (((low % 21600000000) + 21600000000) % 21600000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w4_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w4 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w4_running WHERE label_id IS NOT NULL GROUP BY label_id),
w5_events AS (SELECT `item_id`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, CAST(1 AS BIGINT) AS p0
  FROM `exposures` WHERE `item_id` IS NOT NULL),
w5_asked AS (SELECT label_id, `item_id`, ((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 172800000000) - ((((((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) - 172800000000) % 3600000000) + 3600000000) % 3600000000)) AS low, ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) AS high FROM `labels`),
w5_running AS (
  SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 172800000000) + 172800000000) % 172800000000)) AS block, k, label_id, p0 FROM w5_events UNION ALL SELECT `item_id`, (high - (((high % 172800000000) + 172800000000) % 172800000000)), high, label_id, CAST(NULL AS BIGINT) AS p0 FROM w5_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  UNION ALL SELECT label_id, SUM(p0) OVER w AS p0 FROM (SELECT `item_id`, (k - (((k % 172800000000) + 172800000000) % 172800000000)) AS block, k, label_id, p0 FROM w5_events UNION ALL SELECT `item_id`, (low - (((low % 172800000000) + 172800000000) % 172800000000)), low, label_id, CAST(NULL AS BIGINT) AS p0 FROM w5_asked) s WINDOW w AS (PARTITION BY `item_id`, block ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
w5 AS (SELECT label_id, CAST(SUM(p0) AS BIGINT) AS p0 FROM w5_running WHERE label_id IS NOT NULL GROUP BY label_id),
l0_rows AS (SELECT `item_id`, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, named_struct('t', ts_us, 'n0', `event_id` IS NOT NULL, 'v0', `event_id`, 'n1', `slot_id` IS NOT NULL, 'v1', `slot_id`, 'n2', `segment` IS NOT NULL, 'v2', `segment`, 'n3', `item_id` IS NOT NULL, 'v3', `item_id`, 'n4', `policy` IS NOT NULL, 'v4', `policy`, 'n5', `position` IS NOT NULL, 'v5', `position`, 'n6', `affinity` IS NOT NULL, 'v6', `affinity`) AS r
  FROM `exposures` WHERE `item_id` IS NOT NULL
  UNION ALL SELECT `item_id`, ts_us, label_id, NULL FROM `labels`),
l0_running AS (SELECT label_id, k, MAX(r) OVER (PARTITION BY `item_id` ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS r FROM l0_rows),
l0 AS (SELECT label_id, k, r FROM l0_running WHERE label_id IS NOT NULL)
SELECT l.label_id,
  COALESCE(`w0`.`p0`, CAST(0 AS BIGINT)) AS `item__views_1h`,
  COALESCE(`w1`.`p0`, CAST(0 AS BIGINT)) AS `item__views_24h`,
  COALESCE(`w2`.`p0`, CAST(0 AS BIGINT)) AS `item__clicks_1h`,
  COALESCE(`w3`.`p0`, CAST(0 AS BIGINT)) AS `item__clicks_24h`,
  COALESCE((CAST(CAST(COALESCE(`w3`.`p0`, CAST(0 AS BIGINT)) AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST(COALESCE(`w1`.`p0`, CAST(0 AS BIGINT)) AS DOUBLE) AS DOUBLE), 0e0)), 0.0e0) AS `item__ctr`,
  CASE WHEN l0.r.t >= l0.k - 604800000000 THEN l0.r.v2 END AS `item__last_segment`,
  COALESCE(`w4`.`p0`, CAST(0 AS BIGINT)) AS `item__views_6h`,
  COALESCE(`w5`.`p0`, CAST(0 AS BIGINT)) AS `item__views_2d`
FROM `labels` l
LEFT JOIN w0 ON w0.label_id = l.label_id
LEFT JOIN w1 ON w1.label_id = l.label_id
LEFT JOIN w2 ON w2.label_id = l.label_id
LEFT JOIN w3 ON w3.label_id = l.label_id
LEFT JOIN w4 ON w4.label_id = l.label_id
LEFT JOIN w5 ON w5.label_id = l.label_id
LEFT JOIN l0 ON l0.label_id = l.label_id;
