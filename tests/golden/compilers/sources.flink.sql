CREATE TEMPORARY SYSTEM FUNCTION fdsl_age AS 'dev.featuredsl.flink.AgeFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_key AS 'dev.featuredsl.flink.KeyFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_rank AS 'dev.featuredsl.flink.RankFunction';

CREATE TABLE `timed` (
  `u` STRING,
  `x` BIGINT,
  `at` BIGINT,
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
  'topic' = 'p.timed',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100',
  'featuredsl-json.time-columns' = 'at',
  'featuredsl-json.required' = 'at'
);

CREATE TABLE `web` (
  `u` STRING,
  `page` STRING,
  `x` BIGINT,
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
  'topic' = 'p.web',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 't',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100'
);

CREATE TABLE `app` (
  `x` BIGINT,
  `u` STRING,
  `screen` BIGINT,
  `at` BIGINT,
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
  'topic' = 'p.app',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100',
  'featuredsl-json.time-columns' = 'at',
  'featuredsl-json.required' = 'at'
);

CREATE TABLE `numbered` (
  `u` STRING,
  `x` BIGINT,
  `n` BIGINT,
  `at` BIGINT,
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
  'topic' = 'p.numbered',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100',
  'featuredsl-json.time-columns' = 'at',
  'featuredsl-json.required' = 'at'
);

CREATE TEMPORARY VIEW `anywhere` AS
SELECT `u`, `x`, `_ts` AS `arrival_us`, `_ts`, `_reject`, `_heartbeat`, `_ahead` FROM `web`
UNION ALL SELECT `u`, `x`, `at` AS `arrival_us`, `_ts`, `_reject`, `_heartbeat`, `_ahead` FROM `app`;

CREATE TABLE `timed__dlq` (
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
  'topic' = 'p.timed.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `timed__progress` (
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
);

CREATE TABLE `web__dlq` (
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
  'topic' = 'p.web.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `web__progress` (
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
);

CREATE TABLE `app__dlq` (
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
  'topic' = 'p.app.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `app__progress` (
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
);

CREATE TABLE `numbered__dlq` (
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
  'topic' = 'p.numbered.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `numbered__progress` (
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
);

CREATE TABLE `arrived__timed__5m` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` BIGINT,
  `c1` BIGINT,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'arrived@v1:',
  'header' = '011f703ab51a2101',
  'offset' = '8',
  'slots' = '14',
  'slot-size' = '48',
  'total-size' = '920',
  'hop' = '300000000',
  'expire-after' = '315450000000000'
);

CREATE TABLE `arrived__timed__30m` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` BIGINT,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'arrived@v1:',
  'header' = '011f703ab51a2101',
  'offset' = '680',
  'slots' = '6',
  'slot-size' = '40',
  'total-size' = '920',
  'hop' = '1800000000',
  'expire-after' = '315450000000000'
);

CREATE TABLE `arrived__timed__latest` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'arrived@v1:',
  'fields' = 'l:last',
  'expire-after' = '315450000000000'
);

CREATE TABLE `everywhere__anywhere__5m` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` BIGINT,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'everywhere@v1:',
  'header' = '019c3b5a42143e05',
  'offset' = '8',
  'slots' = '14',
  'slot-size' = '40',
  'total-size' = '568',
  'hop' = '300000000',
  'expire-after' = '315363900000000'
);

CREATE TABLE `everywhere__anywhere__latest` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'everywhere@v1:',
  'fields' = 'l:last',
  'expire-after' = '315363900000000'
);

CREATE TABLE `numbers__numbered__latest` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'numbers@v1:',
  'fields' = 'l:last',
  'expire-after' = '315360000000000'
);

INSERT INTO `timed__dlq`
SELECT 'p.timed', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `timed`)
WHERE `_why` IS NOT NULL;

INSERT INTO `timed__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('timed|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, 'accepted') END AS `outcome` FROM `timed`) AS `e`
GROUP BY `outcome`;

INSERT INTO `web__dlq`
SELECT 'p.web', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `web`)
WHERE `_why` IS NOT NULL;

INSERT INTO `web__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('web|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, 'accepted') END AS `outcome` FROM `web`) AS `e`
GROUP BY `outcome`;

INSERT INTO `app__dlq`
SELECT 'p.app', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `app`)
WHERE `_why` IS NOT NULL;

INSERT INTO `app__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('app|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, 'accepted') END AS `outcome` FROM `app`) AS `e`
GROUP BY `outcome`;

INSERT INTO `numbered__dlq`
SELECT 'p.numbered', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `numbered`)
WHERE `_why` IS NOT NULL;

INSERT INTO `numbered__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('numbered|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, 'accepted') END AS `outcome` FROM `numbered`) AS `e`
GROUP BY `outcome`;

INSERT INTO `arrived__timed__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`,
  MAX(`x`) AS `c1`
FROM `timed`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `arrived__timed__30m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 1800000000) + 1800000000) % 1800000000)) / 1800000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `timed`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 1800000000) + 1800000000) % 1800000000)) / 1800000000);

INSERT INTO `arrived__timed__latest`
SELECT fdsl_key(`u`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(fdsl_rank(`_ts`, `at`, `u`, `x`)) AS `f0`
FROM `timed`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`);

INSERT INTO `everywhere__anywhere__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `anywhere`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `everywhere__anywhere__latest`
SELECT fdsl_key(`u`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(fdsl_rank(`_ts`, `arrival_us`, `u`, `x`)) AS `f0`
FROM `anywhere`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`);

INSERT INTO `numbers__numbered__latest`
SELECT fdsl_key(`u`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(fdsl_rank(`_ts`, `n`, `u`, `x`, `n`)) AS `f0`
FROM `numbered`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`);
