-- length
CAST(CARDINALITY(`i`) AS BIGINT)
-- length of strings
CAST(CARDINALITY(`w`) AS BIGINT)
-- length in arithmetic
(CAST(CARDINALITY(`d`) AS BIGINT) * CAST(2 AS BIGINT))
-- first element
(`i`)[0 + 1]
-- third element
(`d`)[2 + 1]
-- an element of strings
(`w`)[1 + 1]
-- an element by a column
CASE WHEN `a` >= 0 AND `a` < CAST(CARDINALITY(`i`) AS BIGINT) THEN (`i`)[CAST(`a` AS INT) + 1] END
-- an element far outside
CAST(NULL AS BIGINT)
-- a negative constant index
CAST(NULL AS BIGINT)
-- an element in arithmetic
CASE WHEN ((`d`)[0 + 1] + (`d`)[1 + 1]) BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN ((`d`)[0 + 1] + (`d`)[1 + 1]) END
-- contains an integer
ARRAY_CONTAINS(`i`, CAST(CAST(9007199254740993 AS BIGINT) AS BIGINT))
-- contains the least
ARRAY_CONTAINS(`i`, CAST((-9223372036854775807 - 1) AS BIGINT))
-- contains a column
CASE WHEN `a` IS NOT NULL THEN ARRAY_CONTAINS(`i`, CAST(`a` AS BIGINT)) END
-- contains a float
ARRAY_CONTAINS(`d`, CAST(0.0e0 AS DOUBLE))
-- contains a column of floats
CASE WHEN CASE WHEN `f` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `f` END IS NOT NULL THEN ARRAY_CONTAINS(`d`, CAST(CASE WHEN `f` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `f` END AS DOUBLE)) END
-- contains an integer among floats
ARRAY_CONTAINS(`d`, CAST(2.0e0 AS DOUBLE))
-- contains a column of integers among floats
CASE WHEN CAST(`a` AS DOUBLE) IS NOT NULL THEN ARRAY_CONTAINS(`d`, CAST(CAST(`a` AS DOUBLE) AS DOUBLE)) END
-- contains a string
ARRAY_CONTAINS(`w`, CAST('it''s' AS STRING))
-- contains the empty string
ARRAY_CONTAINS(`w`, CAST('' AS STRING))
-- contains a column of strings
CASE WHEN `s` IS NOT NULL THEN ARRAY_CONTAINS(`w`, CAST(`s` AS STRING)) END
-- a filter on an array
(NOT ARRAY_CONTAINS(`w`, CAST('x' AS STRING)))
-- least integer
ARRAY_MIN(`i`)
-- greatest integer
ARRAY_MAX(`i`)
-- least float
ARRAY_MIN(`d`)
-- greatest float
ARRAY_MAX(`d`)
-- null test
(`i` IS NULL)
-- first that is not null
COALESCE(`i`, CAST(ARRAY[CAST(7 AS BIGINT), (-9223372036854775807 - 1)] AS ARRAY<BIGINT>))
-- integers for floats
COALESCE(`d`, CAST(ARRAY[1.0e0, 2.0e0] AS ARRAY<DOUBLE>))
-- strings with quotes
COALESCE(`w`, CAST(ARRAY['it''s', '\n'] AS ARRAY<STRING>))
-- a choice of arrays
CASE WHEN (`a` > CAST(0 AS BIGINT)) THEN `i` ELSE CAST(NULL AS ARRAY<BIGINT>) END
CREATE TEMPORARY SYSTEM FUNCTION fdsl_age AS 'dev.featuredsl.flink.AgeFunction'
CREATE TEMPORARY SYSTEM FUNCTION fdsl_key AS 'dev.featuredsl.flink.KeyFunction'
CREATE TEMPORARY SYSTEM FUNCTION fdsl_rank AS 'dev.featuredsl.flink.RankFunction'
CREATE TABLE `bare` (
  `u` STRING,
  `i` ARRAY<BIGINT>,
  `d` ARRAY<DOUBLE>,
  `w` ARRAY<STRING>,
  `_ts` BIGINT,
  `_raw` STRING,
  `_heartbeat` BOOLEAN,
  `_reject` STRING,
  `_detail` STRING,
  `_payload` STRING,
  `_sha256` STRING,
  `_partition` INT METADATA FROM 'partition' VIRTUAL,
  `_offset` BIGINT METADATA FROM 'offset' VIRTUAL,
  `_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  `_ahead` AS fdsl_age(`_ts`, `_ktime`) < -60000000
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.bare',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100'
)
CREATE TABLE `vectors` (
  `u` STRING,
  `i` ARRAY<BIGINT>,
  `d` ARRAY<DOUBLE>,
  `w` ARRAY<STRING>,
  `x` BIGINT,
  `seq` BIGINT,
  `_ts` BIGINT,
  `_raw` STRING,
  `_heartbeat` BOOLEAN,
  `_reject` STRING,
  `_detail` STRING,
  `_payload` STRING,
  `_sha256` STRING,
  `_partition` INT METADATA FROM 'partition' VIRTUAL,
  `_offset` BIGINT METADATA FROM 'offset' VIRTUAL,
  `_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  `_ahead` AS fdsl_age(`_ts`, `_ktime`) < -60000000
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.vectors',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100'
)
CREATE TABLE `bare__dlq` (
  `topic` STRING,
  `partition` INT,
  `offset` BIGINT,
  `ts` BIGINT,
  `reason` STRING,
  `detail` STRING,
  `payload` STRING,
  `sha256` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.bare.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
)
CREATE TABLE `bare__progress` (
  `k` STRING,
  `ts` BIGINT,
  `n` STRING,
  `t` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'featuredsl:stream:group:',
  'fields' = 'n;t'
)
CREATE TABLE `vectors__dlq` (
  `topic` STRING,
  `partition` INT,
  `offset` BIGINT,
  `ts` BIGINT,
  `reason` STRING,
  `detail` STRING,
  `payload` STRING,
  `sha256` STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.vectors.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
)
CREATE TABLE `vectors__progress` (
  `k` STRING,
  `ts` BIGINT,
  `n` STRING,
  `t` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'featuredsl:stream:group:',
  'fields' = 'n;t'
)
CREATE TABLE `latest_arrays__bare__latest` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  `f1` STRING,
  `f2` STRING,
  `f3` STRING,
  `f4` STRING,
  `f5` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'latest_arrays@v1:',
  'fields' = 'l:i;l:d;l:w;l:row_d;l:recent;l:tagged',
  'expire-after' = '315363600000000'
)
CREATE TABLE `array_windows__vectors__5m` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` BIGINT,
  `c1` BIGINT,
  `c2` DOUBLE,
  `c3` BIGINT,
  `c4` BIGINT,
  `c5` BIGINT,
  `c6` DOUBLE,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'array_windows@v1:',
  'header' = '014d899fd7a13cd8',
  'offset' = '8',
  'slots' = '4',
  'slot-size' = '88',
  'total-size' = '360',
  'hop' = '300000000',
  'expire-after' = '315360900000000'
)
CREATE TABLE `array_windows__vectors__latest` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'array_windows@v1:',
  'fields' = 'l:by_sequence',
  'expire-after' = '315360900000000'
)
INSERT INTO `bare__dlq`
SELECT 'p.bare', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `bare`)
WHERE `_why` IS NOT NULL
INSERT INTO `bare__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('bare|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, 'accepted') END AS `outcome` FROM `bare`) AS `e`
GROUP BY `outcome`
INSERT INTO `vectors__dlq`
SELECT 'p.vectors', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `vectors`)
WHERE `_why` IS NOT NULL
INSERT INTO `vectors__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('vectors|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, 'accepted') END AS `outcome` FROM `vectors`) AS `e`
GROUP BY `outcome`
INSERT INTO `latest_arrays__bare__latest`
SELECT fdsl_key(`u`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(CASE WHEN (NOT (`i` IS NULL)) THEN fdsl_rank(`_ts`, `i`) END) AS `f0`,
  MAX(CASE WHEN (NOT (`d` IS NULL)) THEN fdsl_rank(`_ts`, `d`) END) AS `f1`,
  MAX(CASE WHEN (NOT (`w` IS NULL)) THEN fdsl_rank(`_ts`, `w`) END) AS `f2`,
  MAX(fdsl_rank(`_ts`, `u`, `i`, `d`, `w`)) AS `f3`,
  MAX(CASE WHEN (NOT (`d` IS NULL)) THEN fdsl_rank(`_ts`, `d`) END) AS `f4`,
  MAX(CASE WHEN ARRAY_CONTAINS(`w`, CAST('a' AS STRING)) THEN fdsl_rank(`_ts`, `u`, `i`, `d`, `w`) END) AS `f5`
FROM `bare`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`)
INSERT INTO `array_windows__vectors__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CASE WHEN (`d` IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END) AS `c0`,
  SUM(CAST(CARDINALITY(`i`) AS BIGINT)) AS `c1`,
  SUM((`d`)[0 + 1]) AS `c2`,
  SUM(CASE WHEN ((`d`)[0 + 1] IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END) AS `c3`,
  MAX(CASE WHEN `x` >= 0 AND `x` < CAST(CARDINALITY(`i`) AS BIGINT) THEN (`i`)[CAST(`x` AS INT) + 1] END) AS `c4`,
  SUM(CASE WHEN (ARRAY_CONTAINS(`w`, CAST('a' AS STRING)) AND (NOT CASE WHEN `x` IS NOT NULL THEN ARRAY_CONTAINS(`i`, CAST(`x` AS BIGINT)) END)) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END) AS `c5`,
  MIN(ARRAY_MIN(COALESCE(`d`, CAST(ARRAY[-1.0e0] AS ARRAY<DOUBLE>)))) AS `c6`
FROM `vectors`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000)
INSERT INTO `array_windows__vectors__latest`
SELECT fdsl_key(`u`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(fdsl_rank(`_ts`, `seq`, `u`, `i`, `d`, `w`, `x`, `seq`)) AS `f0`
FROM `vectors`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`)
