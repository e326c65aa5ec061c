CREATE TEMPORARY SYSTEM FUNCTION fdsl_age AS 'dev.featuredsl.flink.AgeFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_key AS 'dev.featuredsl.flink.KeyFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_rank AS 'dev.featuredsl.flink.RankFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_sessions AS 'dev.featuredsl.flink.session.SessionFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_first_arrival AS 'dev.featuredsl.flink.unique.FirstArrival';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_first_in_time AS 'dev.featuredsl.flink.unique.FirstInTime';

CREATE TABLE `copies__records` (
  `u` STRING,
  `id` STRING,
  `x` BIGINT,
  `n` BIGINT,
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
  `_ahead` AS fdsl_age(`_ts`, `_ktime`) < -60000000,
  `_rowtime` AS CASE WHEN fdsl_age(`_ts`, `_ktime`) < -60000000 THEN CAST(NULL AS TIMESTAMP_LTZ(3)) ELSE TO_TIMESTAMP_LTZ(((`_ts` - (((`_ts` % 1000) + 1000) % 1000)) / 1000), 3) END,
  WATERMARK FOR `_rowtime` AS `_rowtime` - INTERVAL '30.001' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.copies',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100'
);

CREATE TABLE `resends__records` (
  `u` STRING,
  `id` STRING,
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
  `_ahead` AS fdsl_age(`_ts`, `_ktime`) < -60000000,
  `_rowtime` AS CASE WHEN fdsl_age(`_ts`, `_ktime`) < -60000000 THEN CAST(NULL AS TIMESTAMP_LTZ(3)) ELSE TO_TIMESTAMP_LTZ(((`_ts` - (((`_ts` % 1000) + 1000) % 1000)) / 1000), 3) END,
  WATERMARK FOR `_rowtime` AS `_rowtime` - INTERVAL '30.001' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.resends',
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

CREATE TABLE `pages__records` (
  `u` STRING,
  `id` STRING,
  `x` BIGINT,
  `n` BIGINT,
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
  `_ahead` AS fdsl_age(`_ts`, `_ktime`) < -60000000,
  `_rowtime` AS CASE WHEN fdsl_age(`_ts`, `_ktime`) < -60000000 THEN CAST(NULL AS TIMESTAMP_LTZ(3)) ELSE TO_TIMESTAMP_LTZ(((`_ts` - (((`_ts` % 1000) + 1000) % 1000)) / 1000), 3) END,
  WATERMARK FOR `_rowtime` AS `_rowtime` - INTERVAL '30.001' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.pages',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100'
);

CREATE TEMPORARY VIEW `copies__keyed` AS
SELECT MOD(HASH_CODE(`_key`), 4096) AS `_shard`, `_key`, `_ts` AS `_at`, `n` AS `_tie`, `_ktime`,
  `u`, `id`, `x`, `n`, `_ts` FROM (SELECT *, fdsl_key(`id`) AS `_key` FROM `copies__records`)
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL));

CREATE TEMPORARY VIEW `copies__seen` AS
SELECT `u`, `id`, `x`, `n`, `_ts`, `_ktime`, CAST(NULL AS STRING) AS `_reject`, FALSE AS `_heartbeat`, FALSE AS `_ahead`, `_outcome` FROM TABLE(fdsl_first_arrival(input => TABLE `copies__keyed` PARTITION BY `_shard`, withinUs => CAST(120000000 AS BIGINT), keepUs => CAST(4170000000 AS BIGINT), uid => 'unique-copies'))
UNION ALL SELECT `u`, `id`, `x`, `n`, `_ts`, `_ktime`, `_reject`, `_heartbeat`, `_ahead`, CAST(NULL AS STRING) FROM `copies__records`
WHERE NOT (`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL)));

CREATE TEMPORARY VIEW `copies` AS
SELECT `u`, `id`, `x`, `n`, `_ts`, `_reject`, `_heartbeat`, `_ahead` FROM `copies__seen` WHERE `_outcome` IS NULL;

CREATE TEMPORARY VIEW `resends__keyed` AS
SELECT MOD(HASH_CODE(`_key`), 4096) AS `_shard`, `_key`, `at` AS `_at`, `_ts` AS `_tie`, `_ktime`,
  `u`, `id`, `x`, `at`, `_ts` FROM (SELECT *, fdsl_key(`id`, `u`) AS `_key` FROM `resends__records`)
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND `u` IS NOT NULL AND NOT ((`u` IS NULL));

CREATE TEMPORARY VIEW `resends__seen` AS
SELECT `u`, `id`, `x`, `at`, `_ts`, `_ktime`, CAST(NULL AS STRING) AS `_reject`, FALSE AS `_heartbeat`, FALSE AS `_ahead`, `_outcome` FROM TABLE(fdsl_first_arrival(input => TABLE `resends__keyed` PARTITION BY `_shard`, withinUs => CAST(120000000 AS BIGINT), keepUs => CAST(4170000000 AS BIGINT), uid => 'unique-resends'))
UNION ALL SELECT `u`, `id`, `x`, `at`, `_ts`, `_ktime`, `_reject`, `_heartbeat`, `_ahead`, CAST(NULL AS STRING) FROM `resends__records`
WHERE NOT (`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND `u` IS NOT NULL AND NOT ((`u` IS NULL)));

CREATE TEMPORARY VIEW `resends` AS
SELECT `u`, `id`, `x`, `at`, `_ts`, `_reject`, `_heartbeat`, `_ahead` FROM `resends__seen` WHERE `_outcome` IS NULL;

CREATE TEMPORARY VIEW `pages__keyed` AS
SELECT MOD(HASH_CODE(`_key`), 4096) AS `_shard`, `_key`, `_ts` AS `_at`, `n` AS `_tie`, `_ktime`,
  `u`, `id`, `x`, `n`, `_ts` FROM (SELECT *, fdsl_key(`id`) AS `_key` FROM `pages__records`)
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL));

CREATE TEMPORARY VIEW `pages__seen` AS
SELECT `u`, `id`, `x`, `n`, `_ts`, CAST(NULL AS STRING) AS `_reject`, FALSE AS `_heartbeat`, FALSE AS `_ahead`, `_outcome` FROM TABLE(fdsl_first_arrival(input => TABLE `pages__keyed` PARTITION BY `_shard`, withinUs => CAST(600000000 AS BIGINT), keepUs => CAST(87060000000 AS BIGINT), uid => 'unique-pages'))
UNION ALL SELECT `u`, `id`, `x`, `n`, `_ts`, `_reject`, `_heartbeat`, `_ahead`, CAST(NULL AS STRING) FROM `pages__records`
WHERE NOT (`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL)));

CREATE TEMPORARY VIEW `pages` AS
SELECT `u`, `id`, `x`, `n`, `_ts`, `_reject`, `_heartbeat`, `_ahead` FROM `pages__seen` WHERE `_outcome` IS NULL;

CREATE TEMPORARY VIEW `copies__keyed_in_time` AS
SELECT fdsl_key(`id`) AS `_key`, fdsl_rank(`_ts`, `n`, `u`, `id`, `x`, `n`) AS `_rank`, `_ts`, `u`, `id`, `x`, `n`, `_rowtime` FROM `copies__records`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE AND `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL));

CREATE TEMPORARY VIEW `resends__keyed_in_time` AS
SELECT MOD(HASH_CODE(`_key`), 4096) AS `_shard`, `_key`, `at` AS `_at`, `_ts` AS `_tie`, `_ktime`,
  `u`, `id`, `x`, `at`, `_ts`, `_rowtime` FROM (SELECT *, fdsl_key(`id`, `u`) AS `_key` FROM `resends__records`)
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE AND `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND `u` IS NOT NULL AND NOT ((`u` IS NULL));

CREATE TEMPORARY VIEW `pages__keyed_in_time` AS
SELECT fdsl_key(`id`) AS `_key`, fdsl_rank(`_ts`, `n`, `u`, `id`, `x`, `n`) AS `_rank`, `_ts`, `u`, `id`, `x`, `n`, `_rowtime` FROM `pages__records`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE AND `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL));

CREATE TEMPORARY VIEW `pages__keyed_live` AS
SELECT MOD(HASH_CODE(`_key`), 4096) AS `_shard`, `_key`, `_ts` AS `_at`, `n` AS `_tie`, `_ktime`,
  `u`, `id`, `x`, `n`, `_ts`, `_rowtime` FROM (SELECT *, fdsl_key(`id`) AS `_key` FROM `pages__records`)
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE AND `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL));

CREATE TEMPORARY VIEW `copies__in_time` AS
SELECT `u`, `id`, `x`, `n`, `_ts`, `_rowtime` FROM `copies__records`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE AND NOT (`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL)))
UNION ALL SELECT `u`, `id`, `x`, `n`, `_ts`, `_rowtime` FROM (SELECT `u`, `id`, `x`, `n`, `_ts`, `rowtime` AS `_rowtime` FROM TABLE(fdsl_first_in_time(input => TABLE `copies__keyed_in_time` PARTITION BY `_key`, withinUs => CAST(120000000 AS BIGINT), on_time => DESCRIPTOR(`_rowtime`), uid => 'unique-copies-in-time')));

CREATE TEMPORARY VIEW `resends__in_time` AS
SELECT `u`, `id`, `x`, `at`, `_ts`, `_rowtime` FROM `resends__records`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE AND NOT (`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND `u` IS NOT NULL AND NOT ((`u` IS NULL)))
UNION ALL SELECT `u`, `id`, `x`, `at`, `_ts`, `_rowtime` FROM (SELECT `u`, `id`, `x`, `at`, `_ts`, `rowtime` AS `_rowtime` FROM TABLE(fdsl_first_arrival(input => TABLE `resends__keyed_in_time` PARTITION BY `_shard`, withinUs => CAST(120000000 AS BIGINT), keepUs => CAST(4170000000 AS BIGINT), on_time => DESCRIPTOR(`_rowtime`), uid => 'unique-resends-in-time')) WHERE `_outcome` IS NULL);

CREATE TEMPORARY VIEW `pages__in_time` AS
SELECT `u`, `id`, `x`, `n`, `_ts`, `_rowtime` FROM `pages__records`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE AND NOT (`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL)))
UNION ALL SELECT `u`, `id`, `x`, `n`, `_ts`, `_rowtime` FROM (SELECT `u`, `id`, `x`, `n`, `_ts`, `rowtime` AS `_rowtime` FROM TABLE(fdsl_first_in_time(input => TABLE `pages__keyed_in_time` PARTITION BY `_key`, withinUs => CAST(600000000 AS BIGINT), on_time => DESCRIPTOR(`_rowtime`), uid => 'unique-pages-in-time')));

CREATE TEMPORARY VIEW `pages__live` AS
SELECT `u`, `id`, `x`, `n`, `_ts`, `_rowtime` FROM `pages__records`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE AND NOT (`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND `id` IS NOT NULL AND NOT ((`u` IS NULL)))
UNION ALL SELECT `u`, `id`, `x`, `n`, `_ts`, `_rowtime` FROM (SELECT `u`, `id`, `x`, `n`, `_ts`, `rowtime` AS `_rowtime` FROM TABLE(fdsl_first_arrival(input => TABLE `pages__keyed_live` PARTITION BY `_shard`, withinUs => CAST(600000000 AS BIGINT), keepUs => CAST(87060000000 AS BIGINT), on_time => DESCRIPTOR(`_rowtime`), uid => 'unique-pages-live')) WHERE `_outcome` IS NULL);

CREATE TABLE `copies__dlq` (
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
  'topic' = 'p.copies.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `copies__progress` (
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

CREATE TABLE `copies__late` (
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
  'topic' = 'p.copies.late',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `resends__dlq` (
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
  'topic' = 'p.resends.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `resends__progress` (
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

CREATE TABLE `resends__late` (
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
  'topic' = 'p.resends.late',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `pages__dlq` (
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
  'topic' = 'p.pages.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `pages__progress` (
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

CREATE TABLE `pages__late` (
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
  'topic' = 'p.pages.late',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `copied__copies__5m` (
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
  'key-prefix' = 'copied@v1:',
  'header' = '01b086544c14e048',
  'offset' = '8',
  'slots' = '14',
  'slot-size' = '40',
  'total-size' = '1240',
  'hop' = '300000000',
  'expire-after' = '315363990000000'
);

CREATE TABLE `copied__copies__5m__5m` (
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
  'key-prefix' = 'copied@v1:',
  'header' = '01b086544c14e048',
  'offset' = '568',
  'slots' = '14',
  'slot-size' = '48',
  'total-size' = '1240',
  'hop' = '300000000',
  'expire-after' = '315363990000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'copied@v1/copies/5m@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `copied__copies__latest__5m` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'copied@v1:',
  'fields' = 'l:last',
  'expire-after' = '315363990000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'copied@v1/copies/latest@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `sent_again__resends__5m__5m` (
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
  'key-prefix' = 'sent_again@v1:',
  'header' = '016a48f4a7daf948',
  'offset' = '8',
  'slots' = '14',
  'slot-size' = '48',
  'total-size' = '680',
  'hop' = '300000000',
  'expire-after' = '315363990000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'sent_again@v1/resends/5m@5m',
  'mark-every' = '60000000'
);

CREATE TEMPORARY VIEW `visited__pages__session_1m__rows` AS
SELECT fdsl_key(`u`) AS `k`, `_ts`, CAST(1 AS BIGINT) AS `c0`, `x` AS `c1`, `_rowtime`
FROM `pages__live`
WHERE NOT (`u` IS NULL);

CREATE TABLE `visited__pages__session_1m` (
  `k` STRING,
  `first_us` BIGINT,
  `last_us` BIGINT,
  `n` BIGINT,
  `content` BYTES,
  PRIMARY KEY (`k`, `first_us`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'sessions',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'visited@v1:',
  'field-prefix' = 's:pages/session_1m',
  'slots' = '4',
  'hop' = '60000000',
  'expire-after' = '315360000000000'
);

CREATE TEMPORARY VIEW `visited__pages__session_1m__5m__rows` AS
SELECT fdsl_key(`u`) AS `k`, `_ts`, `x` AS `c0`, `_rowtime`
FROM `pages__in_time`
WHERE NOT (`u` IS NULL);

CREATE TABLE `visited__pages__session_1m__5m` (
  `k` STRING,
  `first_us` BIGINT,
  `last_us` BIGINT,
  `n` BIGINT,
  `content` BYTES,
  PRIMARY KEY (`k`, `first_us`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'sessions',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'visited@v1:',
  'field-prefix' = 's:pages/session_1m@5m',
  'slots' = '4',
  'hop' = '60000000',
  'expire-after' = '315360000000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'visited@v1/pages/session_1m@5m',
  'mark-every' = '60000000'
);

INSERT INTO `copies__dlq`
SELECT 'p.copies', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `copies__records`)
WHERE `_why` IS NOT NULL;

INSERT INTO `copies__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('copies|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, `_outcome`, CASE WHEN fdsl_age(`_ts`, `_ktime`) > 3990000000 THEN 'late' END, 'accepted') END AS `outcome` FROM `copies__seen`) AS `e`
GROUP BY `outcome`;

INSERT INTO `copies__late`
SELECT 'p.copies', `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),
  SUBSTRING(TO_BASE64(`_raw`), 1, 955732), SHA256(`_raw`)
FROM TABLE(TUMBLE(TABLE `copies__records`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` <= CURRENT_WATERMARK(`_rowtime`) AND NOT ((`u` IS NULL));

INSERT INTO `resends__dlq`
SELECT 'p.resends', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `resends__records`)
WHERE `_why` IS NOT NULL;

INSERT INTO `resends__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('resends|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, `_outcome`, CASE WHEN fdsl_age(`_ts`, `_ktime`) > 3990000000 THEN 'late' END, 'accepted') END AS `outcome` FROM `resends__seen`) AS `e`
GROUP BY `outcome`;

INSERT INTO `resends__late`
SELECT 'p.resends', `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),
  SUBSTRING(TO_BASE64(`_raw`), 1, 955732), SHA256(`_raw`)
FROM TABLE(TUMBLE(TABLE `resends__records`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` <= CURRENT_WATERMARK(`_rowtime`) AND NOT ((`u` IS NULL));

INSERT INTO `pages__dlq`
SELECT 'p.pages', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END AS `_why` FROM `pages__records`)
WHERE `_why` IS NOT NULL;

INSERT INTO `pages__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('pages|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`u` IS NULL) THEN 'null_entity' END, `_outcome`, 'accepted') END AS `outcome` FROM `pages__seen`) AS `e`
GROUP BY `outcome`;

INSERT INTO `pages__late`
SELECT 'p.pages', `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),
  SUBSTRING(TO_BASE64(`_raw`), 1, 955732), SHA256(`_raw`)
FROM TABLE(TUMBLE(TABLE `pages__records`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` <= CURRENT_WATERMARK(`_rowtime`) AND NOT ((`u` IS NULL));

INSERT INTO `copied__copies__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `copies`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `copied__copies__5m__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`,
  SUM(`x`) AS `c1`
FROM TABLE(CUMULATE(TABLE `copies__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000), `window_start`, `window_end`
HAVING ((MAX(`_ts`) - (((MAX(`_ts`) % 60000000) + 60000000) % 60000000)) / 60000000) = TIMESTAMPDIFF(MINUTE, TIMESTAMP '1970-01-01 00:00:00', `window_end`) - 1;

INSERT INTO `copied__copies__latest__5m`
SELECT fdsl_key(`u`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(fdsl_rank(`_ts`, `n`, `u`, `id`, `x`, `n`)) AS `f0`
FROM TABLE(TUMBLE(TABLE `copies__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), `window_start`, `window_end`;

INSERT INTO `sent_again__resends__5m__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`,
  SUM(`x`) AS `c1`
FROM TABLE(CUMULATE(TABLE `resends__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000), `window_start`, `window_end`
HAVING ((MAX(`_ts`) - (((MAX(`_ts`) % 60000000) + 60000000) % 60000000)) / 60000000) = TIMESTAMPDIFF(MINUTE, TIMESTAMP '1970-01-01 00:00:00', `window_end`) - 1;

INSERT INTO `visited__pages__session_1m`
SELECT `k`, `first_us`, `last_us`, `n`, `content`
FROM fdsl_sessions(input => TABLE `visited__pages__session_1m__rows` PARTITION BY `k`,
  gapUs => CAST(60000000 AS BIGINT), parts => '[{"merge":"sum"},{"merge":"sum"}]',
  maxBytes => 262144, live => TRUE,
  on_time => DESCRIPTOR(`_rowtime`), uid => 'sessions-f3e91e547dd8');

INSERT INTO `visited__pages__session_1m__5m`
SELECT `k`, `first_us`, `last_us`, `n`, `content`
FROM fdsl_sessions(input => TABLE `visited__pages__session_1m__5m__rows` PARTITION BY `k`,
  gapUs => CAST(60000000 AS BIGINT), parts => '[{"merge":"sum"}]',
  maxBytes => 262144, live => FALSE,
  on_time => DESCRIPTOR(`_rowtime`), uid => 'sessions-b1bb7e5a601b');
