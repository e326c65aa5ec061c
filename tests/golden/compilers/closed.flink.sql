CREATE TEMPORARY SYSTEM FUNCTION fdsl_age AS 'dev.featuredsl.flink.AgeFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_key AS 'dev.featuredsl.flink.KeyFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_rank AS 'dev.featuredsl.flink.RankFunction';

CREATE TEMPORARY SYSTEM FUNCTION fdsl_wide AS 'dev.featuredsl.flink.wide.WideFunction';

CREATE TABLE `tv` (
  `user` STRING,
  `item` STRING,
  `price` DOUBLE,
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
  `_ahead` AS fdsl_age(`_ts`, `_ktime`) < -60000000
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.tv',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'ms',
  'featuredsl-json.time-range' = '1980/2100'
);

CREATE TABLE `web` (
  `user` STRING,
  `item` STRING,
  `price` DOUBLE,
  `n` BIGINT,
  `seen` BIGINT,
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
  'topic' = 'p.web',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'ms',
  'featuredsl-json.time-range' = '1980/2100',
  'featuredsl-json.time-columns' = 'seen',
  'featuredsl-json.required' = 'seen'
);

CREATE TABLE `app` (
  `user` STRING,
  `item` STRING,
  `price` DOUBLE,
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
  'topic' = 'p.app',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'ts',
  'featuredsl-json.time-unit' = 'ms',
  'featuredsl-json.time-range' = '1980/2100'
);

CREATE TEMPORARY VIEW `both` AS
SELECT `user`, `item`, `price`, `n`, (`seen` * 1000) AS `arrival_us`, `_ts`, `_reject`, `_heartbeat`, `_ahead` FROM `web`
UNION ALL SELECT `user`, `item`, `price`, `n`, `_ts` AS `arrival_us`, `_ts`, `_reject`, `_heartbeat`, `_ahead` FROM `app`;

CREATE TEMPORARY VIEW `both__in_time` AS
SELECT `user`, `item`, `price`, `n`, (`seen` * 1000) AS `arrival_us`, `_ts`, `_rowtime` FROM `web`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE
UNION ALL SELECT `user`, `item`, `price`, `n`, `_ts` AS `arrival_us`, `_ts`, `_rowtime` FROM `app`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE;

CREATE TEMPORARY VIEW `app__in_time` AS
SELECT `user`, `item`, `price`, `n`, `_ts`, `_rowtime` FROM `app`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE;

CREATE TABLE `tv__dlq` (
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
  'topic' = 'p.tv.dlq',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `tv__progress` (
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

CREATE TABLE `web__late` (
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
  'topic' = 'p.web.late',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
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

CREATE TABLE `app__late` (
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
  'topic' = 'p.app.late',
  'properties.bootstrap.servers' = 'kafka:1',
  'format' = 'json'
);

CREATE TABLE `closed__tv__5m` (
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
  'key-prefix' = 'closed@v1:',
  'header' = '01d3d7c88a344506',
  'offset' = '8',
  'slots' = '14',
  'slot-size' = '40',
  'total-size' = '3168',
  'hop' = '300000000',
  'expire-after' = '1468890000000'
);

CREATE TABLE `closed__both__30s__5m` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` DOUBLE,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'closed@v1:',
  'header' = '01d3d7c88a344506',
  'offset' = '568',
  'slots' = '23',
  'slot-size' = '40',
  'total-size' = '3168',
  'hop' = '30000000',
  'expire-after' = '1468890000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'closed@v1/both/30s@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `closed__both__5m__5m` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` DOUBLE,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'closed@v1:',
  'header' = '01d3d7c88a344506',
  'offset' = '1488',
  'slots' = '14',
  'slot-size' = '40',
  'total-size' = '3168',
  'hop' = '300000000',
  'expire-after' = '1468890000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'closed@v1/both/5m@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `closed__both__1m__5m` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` DOUBLE,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'closed@v1:',
  'header' = '01d3d7c88a344506',
  'offset' = '2048',
  'slots' = '22',
  'slot-size' = '40',
  'total-size' = '3168',
  'hop' = '60000000',
  'expire-after' = '1468890000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'closed@v1/both/1m@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `closed__both__2d__5m` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `c0` DOUBLE,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'ring',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'closed@v1:',
  'header' = '01d3d7c88a344506',
  'offset' = '2928',
  'slots' = '6',
  'slot-size' = '40',
  'total-size' = '3168',
  'hop' = '172800000000',
  'expire-after' = '1468890000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'closed@v1/both/2d@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `closed__both__5m__5m__wide` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `s0` BYTES,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'tiles',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'closed@v1:',
  'field-prefix' = 't:both/5m@5m:',
  'slots' = '14',
  'hop' = '300000000',
  'expire-after' = '1468890000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'closed@v1/both/5m@5m/states',
  'mark-every' = '60000000'
);

CREATE TABLE `closed__app__latest__5m` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'closed@v1:',
  'fields' = 'l:item',
  'expire-after' = '1468890000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'closed@v1/app/latest@5m',
  'mark-every' = '60000000'
);

INSERT INTO `tv__dlq`
SELECT 'p.tv', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`user` IS NULL) THEN 'null_entity' END AS `_why` FROM `tv`)
WHERE `_why` IS NOT NULL;

INSERT INTO `tv__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('tv|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`user` IS NULL) THEN 'null_entity' END, CASE WHEN fdsl_age(`_ts`, `_ktime`) > 3900000000 THEN 'late' END, 'accepted') END AS `outcome` FROM `tv`) AS `e`
GROUP BY `outcome`;

INSERT INTO `web__dlq`
SELECT 'p.web', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`user` IS NULL) THEN 'null_entity' END AS `_why` FROM `web`)
WHERE `_why` IS NOT NULL;

INSERT INTO `web__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('web|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`user` IS NULL) THEN 'null_entity' END, CASE WHEN fdsl_age(`_ts`, `_ktime`) > 864090000000 THEN 'late' END, 'accepted') END AS `outcome` FROM `web`) AS `e`
GROUP BY `outcome`;

INSERT INTO `web__late`
SELECT 'p.web', `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),
  SUBSTRING(TO_BASE64(`_raw`), 1, 955732), SHA256(`_raw`)
FROM TABLE(TUMBLE(TABLE `web`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` <= CURRENT_WATERMARK(`_rowtime`) AND NOT ((`user` IS NULL));

INSERT INTO `app__dlq`
SELECT 'p.app', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`user` IS NULL) THEN 'null_entity' END AS `_why` FROM `app`)
WHERE `_why` IS NOT NULL;

INSERT INTO `app__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('app|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`user` IS NULL) THEN 'null_entity' END, CASE WHEN fdsl_age(`_ts`, `_ktime`) > 864090000000 THEN 'late' END, 'accepted') END AS `outcome` FROM `app`) AS `e`
GROUP BY `outcome`;

INSERT INTO `app__late`
SELECT 'p.app', `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),
  SUBSTRING(TO_BASE64(`_raw`), 1, 955732), SHA256(`_raw`)
FROM TABLE(TUMBLE(TABLE `app`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` <= CURRENT_WATERMARK(`_rowtime`) AND NOT ((`user` IS NULL));

INSERT INTO `closed__tv__5m`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `tv`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `closed__both__30s__5m`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(`price`) AS `c0`
FROM TABLE(TUMBLE(TABLE `both__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000), `window_start`, `window_end`;

INSERT INTO `closed__both__5m__5m`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(`price`) AS `c0`
FROM TABLE(CUMULATE(TABLE `both__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE))
WHERE NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000), `window_start`, `window_end`
HAVING ((MAX(`_ts`) - (((MAX(`_ts`) % 60000000) + 60000000) % 60000000)) / 60000000) = TIMESTAMPDIFF(MINUTE, TIMESTAMP '1970-01-01 00:00:00', `window_end`) - 1;

INSERT INTO `closed__both__1m__5m`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 60000000) + 60000000) % 60000000)) / 60000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(`price`) AS `c0`
FROM TABLE(TUMBLE(TABLE `both__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 60000000) + 60000000) % 60000000)) / 60000000), `window_start`, `window_end`;

INSERT INTO `closed__both__2d__5m`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 172800000000) + 172800000000) % 172800000000)) / 172800000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(`price`) AS `c0`
FROM TABLE(CUMULATE(TABLE `both__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE, INTERVAL '2880' MINUTE(4)))
WHERE NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 172800000000) + 172800000000) % 172800000000)) / 172800000000), `window_start`, `window_end`
HAVING ((MAX(`_ts`) - (((MAX(`_ts`) % 60000000) + 60000000) % 60000000)) / 60000000) = TIMESTAMPDIFF(MINUTE, TIMESTAMP '1970-01-01 00:00:00', `window_end`) - 1;

INSERT INTO `closed__both__5m__5m__wide`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  fdsl_wide('last_k', '{"k":5}', (NOT (`n` IS NULL)), `_ts`, `n`, `arrival_us`, `n`) AS `s0`
FROM TABLE(CUMULATE(TABLE `both__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE))
WHERE NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000), `window_start`, `window_end`
HAVING ((MAX(`_ts`) - (((MAX(`_ts`) % 60000000) + 60000000) % 60000000)) / 60000000) = TIMESTAMPDIFF(MINUTE, TIMESTAMP '1970-01-01 00:00:00', `window_end`) - 1;

INSERT INTO `closed__app__latest__5m`
SELECT fdsl_key(`user`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(CASE WHEN (CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END > 0.0e0) THEN fdsl_rank(`_ts`, `n`, `user`, `item`, `price`, `n`) END) AS `f0`
FROM TABLE(TUMBLE(TABLE `app__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), `window_start`, `window_end`;
