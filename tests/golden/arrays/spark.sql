-- length
CAST(array_size(`i`) AS BIGINT)
-- length of strings
CAST(array_size(`w`) AS BIGINT)
-- length in arithmetic
(CAST(array_size(`d`) AS BIGINT) * CAST(2 AS BIGINT))
-- first element
get(`i`, 0)
-- third element
get(`d`, 2)
-- an element of strings
get(`w`, 1)
-- an element by a column
CASE WHEN `a` >= 0 AND `a` < CAST(array_size(`i`) AS BIGINT) THEN get(`i`, CAST(`a` AS INT)) END
-- an element far outside
CAST(NULL AS BIGINT)
-- a negative constant index
CAST(NULL AS BIGINT)
-- an element in arithmetic
CASE WHEN (get(`d`, 0) + get(`d`, 1)) BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN (get(`d`, 0) + get(`d`, 1)) END
-- contains an integer
array_contains(`i`, CAST(CAST(9007199254740993 AS BIGINT) AS BIGINT))
-- contains the least
array_contains(`i`, CAST((-9223372036854775807 - 1) AS BIGINT))
-- contains a column
CASE WHEN `a` IS NOT NULL THEN array_contains(`i`, CAST(`a` AS BIGINT)) END
-- contains a float
array_contains(`d`, CAST(0.0e0 AS DOUBLE))
-- contains a column of floats
CASE WHEN CASE WHEN `f` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `f` END IS NOT NULL THEN array_contains(`d`, CAST(CASE WHEN `f` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `f` END AS DOUBLE)) END
-- contains an integer among floats
array_contains(`d`, CAST(2.0e0 AS DOUBLE))
-- contains a column of integers among floats
CASE WHEN CAST(`a` AS DOUBLE) IS NOT NULL THEN array_contains(`d`, CAST(CAST(`a` AS DOUBLE) AS DOUBLE)) END
-- contains a string
array_contains(`w`, CAST('it\'s' AS STRING))
-- contains the empty string
array_contains(`w`, CAST('' AS STRING))
-- contains a column of strings
CASE WHEN `s` IS NOT NULL THEN array_contains(`w`, CAST(`s` AS STRING)) END
-- a filter on an array
(NOT array_contains(`w`, CAST('x' AS STRING)))
-- least integer
array_min(`i`)
-- greatest integer
array_max(`i`)
-- least float
array_min(`d`)
-- greatest float
array_max(`d`)
-- null test
(`i` IS NULL)
-- first that is not null
COALESCE(`i`, CAST(array(CAST(7 AS BIGINT), (-9223372036854775807 - 1)) AS ARRAY<BIGINT>))
-- integers for floats
COALESCE(`d`, CAST(array(1.0e0, 2.0e0) AS ARRAY<DOUBLE>))
-- strings with quotes
COALESCE(`w`, CAST(array('it\'s', '\\n') AS ARRAY<STRING>))
-- a choice of arrays
CASE WHEN (`a` > CAST(0 AS BIGINT)) THEN `i` ELSE CAST(NULL AS ARRAY<BIGINT>) END
WITH stacked AS (
  SELECT `u` AS k0, fdsl_unit, 0 AS b, ts_us AS o, CAST(NULL AS BIGINT) AS label_id, CASE WHEN fdsl_unit = 0 AND ((NOT (`i` IS NULL))) THEN named_struct('t', ts_us, 'n0', `i` IS NOT NULL, 'v0', `i`) END AS r0, CASE WHEN fdsl_unit = 1 AND ((NOT (`d` IS NULL))) THEN named_struct('t', ts_us, 'n0', `d` IS NOT NULL, 'v0', `d`) END AS r1, CASE WHEN fdsl_unit = 2 AND ((NOT (`w` IS NULL))) THEN named_struct('t', ts_us, 'n0', `w` IS NOT NULL, 'v0', `w`) END AS r2, CASE WHEN fdsl_unit = 3 THEN named_struct('t', ts_us, 'n0', `u` IS NOT NULL, 'v0', `u`, 'n1', `i` IS NOT NULL, 'v1', `i`, 'n2', `d` IS NOT NULL, 'v2', `d`, 'n3', `w` IS NOT NULL, 'v3', `w`) END AS r3, CASE WHEN fdsl_unit = 4 AND (array_contains(`w`, CAST('a' AS STRING))) THEN named_struct('t', ts_us, 'n0', `u` IS NOT NULL, 'v0', `u`, 'n1', `i` IS NOT NULL, 'v1', `i`, 'n2', `d` IS NOT NULL, 'v2', `d`, 'n3', `w` IS NOT NULL, 'v3', `w`) END AS r4
  FROM `bare` LATERAL VIEW explode(array(0, 1, 2, 3, 4)) fdsl_units AS fdsl_unit WHERE `u` IS NOT NULL
  UNION ALL SELECT `u`, fdsl_unit, 0, CASE WHEN fdsl_unit IN (0) THEN ts_us WHEN fdsl_unit IN (1) THEN ts_us WHEN fdsl_unit IN (2) THEN ts_us WHEN fdsl_unit IN (3) THEN ts_us WHEN fdsl_unit IN (4) THEN ts_us ELSE NULL END, label_id, NULL, NULL, NULL, NULL, NULL
  FROM `labels` LATERAL VIEW explode(array(0, 1, 2, 3, 4)) fdsl_units AS fdsl_unit),
running AS (SELECT label_id, fdsl_unit, o, MAX(r0) OVER w AS r0, MAX(r1) OVER w AS r1, MAX(r2) OVER w AS r2, MAX(r3) OVER w AS r3, MAX(r4) OVER w AS r4
  FROM stacked WINDOW w AS (PARTITION BY k0, fdsl_unit, b ORDER BY o RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
merged AS (SELECT label_id, MAX(CASE WHEN fdsl_unit = 0 THEN r0 END) AS l0, MAX(CASE WHEN fdsl_unit = 0 THEN o END) AS l0_q, MAX(CASE WHEN fdsl_unit = 1 THEN r1 END) AS l1, MAX(CASE WHEN fdsl_unit = 1 THEN o END) AS l1_q, MAX(CASE WHEN fdsl_unit = 2 THEN r2 END) AS l2, MAX(CASE WHEN fdsl_unit = 2 THEN o END) AS l2_q, MAX(CASE WHEN fdsl_unit = 3 THEN r3 END) AS l3, MAX(CASE WHEN fdsl_unit = 3 THEN o END) AS l3_q, MAX(CASE WHEN fdsl_unit = 4 THEN r4 END) AS l4, MAX(CASE WHEN fdsl_unit = 4 THEN o END) AS l4_q
  FROM running WHERE label_id IS NOT NULL GROUP BY label_id)
SELECT label_id,
  l0.v0 AS `latest_arrays__i`,
  l1.v0 AS `latest_arrays__d`,
  l2.v0 AS `latest_arrays__w`,
  l3.v2 AS `latest_arrays__row_d`,
  COALESCE(CASE WHEN l1.t >= l1_q - 3600000000 THEN l1.v0 END, CAST(array(0.5e0, 1.0e0) AS ARRAY<DOUBLE>)) AS `latest_arrays__recent`,
  COALESCE(l4.v3, CAST(array() AS ARRAY<STRING>)) AS `latest_arrays__tagged`
FROM merged
WITH stacked AS (
  SELECT `u` AS k0, fdsl_unit, CASE WHEN fdsl_unit IN (0, 1) THEN (ts_us - (((ts_us % 600000000) + 600000000) % 600000000)) ELSE 0 END AS b, CASE WHEN fdsl_unit IN (1) THEN -ts_us ELSE ts_us END AS o, CAST(NULL AS BIGINT) AS label_id, CASE WHEN fdsl_unit IN (0, 1) THEN CASE WHEN `x` >= 0 AND `x` < CAST(array_size(`i`) AS BIGINT) THEN get(`i`, CAST(`x` AS INT)) END ELSE CAST(NULL AS BIGINT) END AS max_int_0, CASE WHEN fdsl_unit IN (0, 1) THEN array_min(COALESCE(`d`, CAST(array(-1.0e0) AS ARRAY<DOUBLE>))) ELSE CAST(NULL AS DOUBLE) END AS min_float_0, CASE WHEN fdsl_unit IN (0, 1) THEN get(`d`, 0) ELSE CAST(NULL AS DOUBLE) END AS sum_float_0, CASE WHEN fdsl_unit IN (0, 1) THEN CASE WHEN (`d` IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END ELSE CAST(NULL AS BIGINT) END AS sum_int_0, CASE WHEN fdsl_unit IN (0, 1) THEN CAST(array_size(`i`) AS BIGINT) ELSE CAST(NULL AS BIGINT) END AS sum_int_1, CASE WHEN fdsl_unit IN (0, 1) THEN CASE WHEN (get(`d`, 0) IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END ELSE CAST(NULL AS BIGINT) END AS sum_int_2, CASE WHEN fdsl_unit IN (0, 1) THEN CASE WHEN (array_contains(`w`, CAST('a' AS STRING)) AND (NOT CASE WHEN `x` IS NOT NULL THEN array_contains(`i`, CAST(`x` AS BIGINT)) END)) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END ELSE CAST(NULL AS BIGINT) END AS sum_int_3, CASE WHEN fdsl_unit = 2 THEN named_struct('t', ts_us, 'n0', `seq` IS NOT NULL, 'v0', `seq`, 'n1', `u` IS NOT NULL, 'v1', `u`, 'n2', `i` IS NOT NULL, 'v2', `i`, 'n3', `d` IS NOT NULL, 'v3', `d`, 'n4', `w` IS NOT NULL, 'v4', `w`, 'n5', `x` IS NOT NULL, 'v5', `x`, 'n6', `seq` IS NOT NULL, 'v6', `seq`) END AS r0
  FROM `vectors` LATERAL VIEW explode(array(0, 1, 2)) fdsl_units AS fdsl_unit WHERE `u` IS NOT NULL
  UNION ALL SELECT `u`, fdsl_unit, CASE WHEN fdsl_unit IN (0) THEN (ts_us - (((ts_us % 600000000) + 600000000) % 600000000)) WHEN fdsl_unit IN (1) THEN (((ts_us - 600000000) - ((((ts_us - 600000000) % 300000000) + 300000000) % 300000000)) - (((((ts_us - 600000000) - ((((ts_us - 600000000) % 300000000) + 300000000) % 300000000)) % 600000000) + 600000000) % 600000000)) ELSE 0 END, CASE WHEN fdsl_unit IN (0) THEN ts_us WHEN fdsl_unit IN (1) THEN 1 - ((ts_us - 600000000) - ((((ts_us - 600000000) % 300000000) + 300000000) % 300000000)) WHEN fdsl_unit IN (2) THEN ts_us ELSE NULL END, label_id, CAST(NULL AS BIGINT), CAST(NULL AS DOUBLE), CAST(NULL AS DOUBLE), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), NULL
  FROM `labels` LATERAL VIEW explode(array(0, 1, 2)) fdsl_units AS fdsl_unit),
running AS (SELECT label_id, fdsl_unit, o, MAX(max_int_0) OVER w AS max_int_0, MIN(min_float_0) OVER w AS min_float_0, SUM(sum_float_0) OVER w AS sum_float_0, SUM(sum_int_0) OVER w AS sum_int_0, SUM(CAST(sum_int_1 AS DECIMAL(38, 0))) OVER w AS sum_int_1, SUM(sum_int_2) OVER w AS sum_int_2, SUM(sum_int_3) OVER w AS sum_int_3, MAX(r0) OVER w AS r0
  FROM stacked WINDOW w AS (PARTITION BY k0, fdsl_unit, b ORDER BY o RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
merged AS (SELECT label_id, CAST(SUM(CASE WHEN fdsl_unit IN (0, 1) THEN sum_int_0 END) AS BIGINT) AS w0_p0, TRY_CAST(SUM(CAST(CASE WHEN fdsl_unit IN (0, 1) THEN sum_int_1 END AS DECIMAL(38, 0))) AS BIGINT) AS w0_p1, CAST(SUM(CASE WHEN fdsl_unit IN (0, 1) THEN sum_float_0 END) AS DOUBLE) AS w0_p2, CAST(SUM(CASE WHEN fdsl_unit IN (0, 1) THEN sum_int_2 END) AS BIGINT) AS w0_p3, CAST(MAX(CASE WHEN fdsl_unit IN (0, 1) THEN max_int_0 END) AS BIGINT) AS w0_p4, CAST(SUM(CASE WHEN fdsl_unit IN (0, 1) THEN sum_int_3 END) AS BIGINT) AS w0_p5, CAST(MIN(CASE WHEN fdsl_unit IN (0, 1) THEN min_float_0 END) AS DOUBLE) AS w0_p6, MAX(CASE WHEN fdsl_unit = 2 THEN r0 END) AS l0, MAX(CASE WHEN fdsl_unit = 2 THEN o END) AS l0_q
  FROM running WHERE label_id IS NOT NULL GROUP BY label_id)
SELECT label_id,
  COALESCE(`w0_p0`, CAST(0 AS BIGINT)) AS `array_windows__n`,
  `w0_p1` AS `array_windows__items`,
  CASE WHEN (CAST(CAST(`w0_p2` AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST(`w0_p3` AS DOUBLE) AS DOUBLE), 0e0)) BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN (CAST(CAST(`w0_p2` AS DOUBLE) AS DOUBLE) / NULLIF(CAST(CAST(`w0_p3` AS DOUBLE) AS DOUBLE), 0e0)) END AS `array_windows__first`,
  `w0_p4` AS `array_windows__chosen`,
  COALESCE(`w0_p5`, CAST(0 AS BIGINT)) AS `array_windows__tagged`,
  `w0_p6` AS `array_windows__lowest`,
  l0.v2 AS `array_windows__by_sequence`
FROM merged
WITH stacked AS (
  SELECT `u` AS k0, fdsl_unit, 0 AS b, ts_us AS o, CAST(NULL AS BIGINT) AS label_id, CASE WHEN fdsl_unit = 0 AND ((NOT (`i` IS NULL))) THEN named_struct('t', ts_us, 'n0', `i` IS NOT NULL, 'v0', `i`) END AS r0, CASE WHEN fdsl_unit = 1 THEN named_struct('t', ts_us, 'n0', `u` IS NOT NULL, 'v0', `u`, 'n1', `i` IS NOT NULL, 'v1', `i`, 'n2', `d` IS NOT NULL, 'v2', `d`, 'n3', `w` IS NOT NULL, 'v3', `w`) END AS r1
  FROM `bare` LATERAL VIEW explode(array(0, 1)) fdsl_units AS fdsl_unit WHERE `u` IS NOT NULL
  UNION ALL SELECT `u`, fdsl_unit, 0, CASE WHEN fdsl_unit IN (0) THEN ((ts_us - 600000000) - ((((ts_us - 600000000) % 3600000000) + 3600000000) % 3600000000)) WHEN fdsl_unit IN (1) THEN ((ts_us - 3600000000) - ((((ts_us - 3600000000) % 86400000000) + 86400000000) % 86400000000)) ELSE NULL END, label_id, NULL, NULL
  FROM `labels` LATERAL VIEW explode(array(0, 1)) fdsl_units AS fdsl_unit),
running AS (SELECT label_id, fdsl_unit, o, MAX(r0) OVER w AS r0, MAX(r1) OVER w AS r1
  FROM stacked WINDOW w AS (PARTITION BY k0, fdsl_unit, b ORDER BY o RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
merged AS (SELECT label_id, MAX(CASE WHEN fdsl_unit = 0 THEN r0 END) AS l0, MAX(CASE WHEN fdsl_unit = 0 THEN o END) AS l0_q, MAX(CASE WHEN fdsl_unit = 1 THEN r1 END) AS l1, MAX(CASE WHEN fdsl_unit = 1 THEN o END) AS l1_q
  FROM running WHERE label_id IS NOT NULL GROUP BY label_id)
SELECT label_id,
  l0.v0 AS `array_tiers__hourly`,
  COALESCE(CASE WHEN l1.t >= l1_q - 86400000000 THEN l1.v3 END, CAST(array('none') AS ARRAY<STRING>)) AS `array_tiers__daily`
FROM merged
