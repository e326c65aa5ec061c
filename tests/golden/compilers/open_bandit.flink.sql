CREATE TEMPORARY SYSTEM FUNCTION fdsl_age AS 'dev.featuredsl.flink.AgeFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_key AS 'dev.featuredsl.flink.KeyFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_rank AS 'dev.featuredsl.flink.RankFunction';

CREATE TABLE `exposures` (
  `event_id` STRING,
  `slot_id` STRING,
  `segment` STRING,
  `item_id` STRING,
  `policy` STRING,
  `position` STRING,
  `affinity` DOUBLE,
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
  'topic' = 'p.exposures',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'ms',
  'featuredsl-json.time-range' = '1980/2100'
);

CREATE TABLE `clicks` (
  `event_id` STRING,
  `slot_id` STRING,
  `segment` STRING,
  `item_id` STRING,
  `policy` STRING,
  `position` STRING,
  `affinity` DOUBLE,
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
  'topic' = 'p.clicks',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'ms',
  'featuredsl-json.time-range' = '1980/2100'
);

CREATE TABLE `exposures__dlq` (
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
  'topic' = 'p.exposures.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `exposures__progress` (
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

CREATE TABLE `clicks__dlq` (
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
  'topic' = 'p.clicks.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `clicks__progress` (
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

CREATE TABLE `segment__exposures__5m` (
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
  'key-prefix' = 'segment@v1:',
  'header' = '016faf9922ceff6b',
  'offset' = '8',
  'slots' = '14',
  'slot-size' = '40',
  'total-size' = '3624',
  'hop' = '300000000',
  'expire-after' = '1296000000000'
);

CREATE TABLE `segment__exposures__1h` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` BIGINT,
  `c1` DOUBLE,
  `c2` BIGINT,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'segment@v1:',
  'header' = '016faf9922ceff6b',
  'offset' = '568',
  'slots' = '26',
  'slot-size' = '56',
  'total-size' = '3624',
  'hop' = '3600000000',
  'expire-after' = '1296000000000'
);

CREATE TABLE `segment__clicks__5m` (
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
  'key-prefix' = 'segment@v1:',
  'header' = '016faf9922ceff6b',
  'offset' = '2024',
  'slots' = '14',
  'slot-size' = '40',
  'total-size' = '3624',
  'hop' = '300000000',
  'expire-after' = '1296000000000'
);

CREATE TABLE `segment__clicks__1h` (
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
  'key-prefix' = 'segment@v1:',
  'header' = '016faf9922ceff6b',
  'offset' = '2584',
  'slots' = '26',
  'slot-size' = '40',
  'total-size' = '3624',
  'hop' = '3600000000',
  'expire-after' = '1296000000000'
);

CREATE TABLE `segment__exposures__latest` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'segment@v1:',
  'fields' = 'l:last_item',
  'expire-after' = '1296000000000'
);

CREATE TABLE `item__exposures__5m` (
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
  'key-prefix' = 'item@v1:',
  'header' = '015d577fecf0f6a8',
  'offset' = '8',
  'slots' = '14',
  'slot-size' = '40',
  'total-size' = '3208',
  'hop' = '300000000',
  'expire-after' = '1296000000000'
);

CREATE TABLE `item__exposures__1h` (
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
  'key-prefix' = 'item@v1:',
  'header' = '015d577fecf0f6a8',
  'offset' = '568',
  'slots' = '26',
  'slot-size' = '40',
  'total-size' = '3208',
  'hop' = '3600000000',
  'expire-after' = '1296000000000'
);

CREATE TABLE `item__clicks__5m` (
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
  'key-prefix' = 'item@v1:',
  'header' = '015d577fecf0f6a8',
  'offset' = '1608',
  'slots' = '14',
  'slot-size' = '40',
  'total-size' = '3208',
  'hop' = '300000000',
  'expire-after' = '1296000000000'
);

CREATE TABLE `item__clicks__1h` (
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
  'key-prefix' = 'item@v1:',
  'header' = '015d577fecf0f6a8',
  'offset' = '2168',
  'slots' = '26',
  'slot-size' = '40',
  'total-size' = '3208',
  'hop' = '3600000000',
  'expire-after' = '1296000000000'
);

CREATE TABLE `item__exposures__latest` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'item@v1:',
  'fields' = 'l:last_segment',
  'expire-after' = '1296000000000'
);

INSERT INTO `exposures__dlq`
SELECT 'p.exposures', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`segment` IS NULL) OR (`item_id` IS NULL) THEN 'null_entity' END AS `_why` FROM `exposures`)
WHERE `_why` IS NOT NULL;

INSERT INTO `exposures__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('exposures|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`segment` IS NULL) OR (`item_id` IS NULL) THEN 'null_entity' END, CASE WHEN fdsl_age(`_ts`, `_ktime`) > 604800000000 THEN 'late' END, 'accepted') END AS `outcome` FROM `exposures`) AS `e`
GROUP BY `outcome`;

INSERT INTO `clicks__dlq`
SELECT 'p.clicks', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`segment` IS NULL) OR (`item_id` IS NULL) THEN 'null_entity' END AS `_why` FROM `clicks`)
WHERE `_why` IS NOT NULL;

INSERT INTO `clicks__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('clicks|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`segment` IS NULL) OR (`item_id` IS NULL) THEN 'null_entity' END, CASE WHEN fdsl_age(`_ts`, `_ktime`) > 90000000000 THEN 'late' END, 'accepted') END AS `outcome` FROM `clicks`) AS `e`
GROUP BY `outcome`;

INSERT INTO `segment__exposures__5m`
SELECT fdsl_key(`segment`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `exposures`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`segment` IS NULL)
GROUP BY fdsl_key(`segment`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `segment__exposures__1h`
SELECT fdsl_key(`segment`) AS `k`, ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`,
  SUM(`affinity`) AS `c1`,
  SUM(CASE WHEN (`affinity` IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END) AS `c2`
FROM `exposures`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`segment` IS NULL)
GROUP BY fdsl_key(`segment`), ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000);

INSERT INTO `segment__clicks__5m`
SELECT fdsl_key(`segment`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `clicks`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`segment` IS NULL)
GROUP BY fdsl_key(`segment`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `segment__clicks__1h`
SELECT fdsl_key(`segment`) AS `k`, ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `clicks`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`segment` IS NULL)
GROUP BY fdsl_key(`segment`), ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000);

INSERT INTO `segment__exposures__latest`
SELECT fdsl_key(`segment`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(fdsl_rank(`_ts`, `event_id`, `slot_id`, `segment`, `item_id`, `policy`, `position`, `affinity`)) AS `f0`
FROM `exposures`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`segment` IS NULL)
GROUP BY fdsl_key(`segment`);

INSERT INTO `item__exposures__5m`
SELECT fdsl_key(`item_id`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `exposures`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`item_id` IS NULL)
GROUP BY fdsl_key(`item_id`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `item__exposures__1h`
SELECT fdsl_key(`item_id`) AS `k`, ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `exposures`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`item_id` IS NULL)
GROUP BY fdsl_key(`item_id`), ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000);

INSERT INTO `item__clicks__5m`
SELECT fdsl_key(`item_id`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `clicks`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`item_id` IS NULL)
GROUP BY fdsl_key(`item_id`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `item__clicks__1h`
SELECT fdsl_key(`item_id`) AS `k`, ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `clicks`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`item_id` IS NULL)
GROUP BY fdsl_key(`item_id`), ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000);

INSERT INTO `item__exposures__latest`
SELECT fdsl_key(`item_id`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(fdsl_rank(`_ts`, `event_id`, `slot_id`, `segment`, `item_id`, `policy`, `position`, `affinity`)) AS `f0`
FROM `exposures`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`item_id` IS NULL)
GROUP BY fdsl_key(`item_id`);
