CREATE TEMPORARY SYSTEM FUNCTION fdsl_as_of AS 'dev.featuredsl.flink.asof.AsOf';

CREATE TABLE `items` (
  `x` BIGINT,
  `price` BIGINT,
  `kind` STRING,
  `tags` ARRAY<STRING>,
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
  `_ahead` AS FALSE,
  `_rowtime` AS TO_TIMESTAMP_LTZ(GREATEST(((`_ts` - (((`_ts` % 1000) + 1000) % 1000)) / 1000), 0) + 3155760000000, 3),
  WATERMARK FOR `_rowtime` AS CASE WHEN TO_TIMESTAMP_LTZ(((`_ts` - (((`_ts` % 1000) + 1000) % 1000)) / 1000), 3) > `_ktime` THEN `_ktime` ELSE TO_TIMESTAMP_LTZ(((`_ts` - (((`_ts` % 1000) + 1000) % 1000)) / 1000), 3) END - INTERVAL '15.001' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.items',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'group',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.event-time' = 'since',
  'featuredsl-json.time-unit' = 'us',
  'featuredsl-json.time-range' = '1980/2100'
);

CREATE TEMPORARY VIEW `buys+items__and_rows` AS
SELECT fdsl_key(`x`) AS `_key`, `_ts`, `u`, `x`, `n`, CAST(NULL AS STRING) AS `_rank`, CAST(NULL AS BIGINT) AS `price`, CAST(NULL AS STRING) AS `kind`, CAST(NULL AS ARRAY<STRING>) AS `tags`, `_rowtime` FROM `buys__in_time` WHERE NOT (`x` IS NULL)
UNION ALL SELECT fdsl_key(`x`), `_ts`, CAST(NULL AS STRING), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), fdsl_rank(`_ts`, `price`, `kind`, `tags`), `price`, `kind`, `tags`, `_rowtime` FROM `items`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND NOT (`x` IS NULL);

CREATE TEMPORARY VIEW `buys+items__in_time` AS
SELECT `u`, `x`, `n`, `_ts`, `price`, `kind`, `tags`, `rowtime` AS `_rowtime` FROM TABLE(fdsl_as_of(input => TABLE `buys+items__and_rows` PARTITION BY `_key`, eventColumns => CAST(4 AS BIGINT),
  on_time => DESCRIPTOR(`_rowtime`), uid => 'as-of-buys_2b_items'))
UNION ALL SELECT `u`, `x`, `n`, `_ts`, CAST(NULL AS BIGINT) AS `price`, CAST(NULL AS STRING) AS `kind`, CAST(NULL AS ARRAY<STRING>) AS `tags`, `_rowtime` FROM `buys__in_time` WHERE `x` IS NULL;

CREATE TEMPORARY VIEW `buys+items+maker_makers__and_rows` AS
SELECT fdsl_key(`kind`) AS `_key`, `_ts`, `u`, `x`, `n`, `price`, `kind`, `tags`, CAST(NULL AS STRING) AS `_rank`, CAST(NULL AS STRING) AS `maker_country`, `_rowtime` FROM `buys+items__in_time` WHERE NOT (`kind` IS NULL)
UNION ALL SELECT fdsl_key(`kind`), `_ts`, CAST(NULL AS STRING), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS STRING), CAST(NULL AS ARRAY<STRING>), fdsl_rank(`_ts`, `country`), `country`, `_rowtime` FROM `makers`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND NOT (`kind` IS NULL);

CREATE TEMPORARY VIEW `buys+items+maker_makers__in_time` AS
SELECT `u`, `x`, `n`, `price`, `kind`, `tags`, `_ts`, `maker_country`, `rowtime` AS `_rowtime` FROM TABLE(fdsl_as_of(input => TABLE `buys+items+maker_makers__and_rows` PARTITION BY `_key`, eventColumns => CAST(7 AS BIGINT),
  on_time => DESCRIPTOR(`_rowtime`), uid => 'as-of-buys_2b_items_2b_maker_5f_makers'))
UNION ALL SELECT `u`, `x`, `n`, `price`, `kind`, `tags`, `_ts`, CAST(NULL AS STRING) AS `maker_country`, `_rowtime` FROM `buys+items__in_time` WHERE `kind` IS NULL;

CREATE TEMPORARY VIEW `sales+items__and_rows` AS
SELECT fdsl_key(`x`) AS `_key`, `_ts`, `u`, `x`, `n`, CAST(NULL AS STRING) AS `_rank`, CAST(NULL AS BIGINT) AS `price`, CAST(NULL AS STRING) AS `kind`, CAST(NULL AS ARRAY<STRING>) AS `tags`, `_rowtime` FROM `sales__in_time` WHERE NOT (`x` IS NULL)
UNION ALL SELECT fdsl_key(`x`), `_ts`, CAST(NULL AS STRING), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), fdsl_rank(`_ts`, `price`, `kind`, `tags`), `price`, `kind`, `tags`, `_rowtime` FROM `items`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND NOT (`x` IS NULL);

CREATE TEMPORARY VIEW `sales+items__in_time` AS
SELECT `u`, `x`, `n`, `_ts`, `price`, `kind`, `tags`, `rowtime` AS `_rowtime` FROM TABLE(fdsl_as_of(input => TABLE `sales+items__and_rows` PARTITION BY `_key`, eventColumns => CAST(4 AS BIGINT),
  on_time => DESCRIPTOR(`_rowtime`), uid => 'as-of-sales_2b_items'))
UNION ALL SELECT `u`, `x`, `n`, `_ts`, CAST(NULL AS BIGINT) AS `price`, CAST(NULL AS STRING) AS `kind`, CAST(NULL AS ARRAY<STRING>) AS `tags`, `_rowtime` FROM `sales__in_time` WHERE `x` IS NULL;

CREATE TEMPORARY VIEW `copies+items__and_rows` AS
SELECT fdsl_key(`x`) AS `_key`, `_ts`, `u`, `x`, `n`, `id`, CAST(NULL AS STRING) AS `_rank`, CAST(NULL AS BIGINT) AS `price`, CAST(NULL AS STRING) AS `kind`, CAST(NULL AS ARRAY<STRING>) AS `tags`, `_rowtime` FROM `copies__in_time` WHERE NOT (`x` IS NULL)
UNION ALL SELECT fdsl_key(`x`), `_ts`, CAST(NULL AS STRING), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS STRING), fdsl_rank(`_ts`, `price`, `kind`, `tags`), `price`, `kind`, `tags`, `_rowtime` FROM `items`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND NOT (`x` IS NULL);

CREATE TEMPORARY VIEW `copies+items__in_time` AS
SELECT `u`, `x`, `n`, `id`, `_ts`, `price`, `kind`, `tags`, `rowtime` AS `_rowtime` FROM TABLE(fdsl_as_of(input => TABLE `copies+items__and_rows` PARTITION BY `_key`, eventColumns => CAST(5 AS BIGINT),
  on_time => DESCRIPTOR(`_rowtime`), uid => 'as-of-copies_2b_items'))
UNION ALL SELECT `u`, `x`, `n`, `id`, `_ts`, CAST(NULL AS BIGINT) AS `price`, CAST(NULL AS STRING) AS `kind`, CAST(NULL AS ARRAY<STRING>) AS `tags`, `_rowtime` FROM `copies__in_time` WHERE `x` IS NULL;

CREATE TABLE `bought__buys+items__30s__5m` (
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
  'key-prefix' = 'bought@v1:',
  'header' = '0160fcc58ea23a3f',
  'offset' = '568',
  'slots' = '23',
  'slot-size' = '48',
  'total-size' = '3992',
  'hop' = '30000000',
  'expire-after' = '315363900000000',
  'extend-hash' = 'true',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'bought@v1/buys+items/30s@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `bought__buys+items__1m__5m` (
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
  'key-prefix' = 'bought@v1:',
  'header' = '0160fcc58ea23a3f',
  'offset' = '1672',
  'slots' = '12',
  'slot-size' = '40',
  'total-size' = '3992',
  'hop' = '60000000',
  'expire-after' = '315363900000000',
  'extend-hash' = 'true',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'bought@v1/buys+items/1m@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `bought__buys+items+maker_makers__30s__5m` (
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
  'key-prefix' = 'bought@v1:',
  'header' = '0160fcc58ea23a3f',
  'offset' = '2152',
  'slots' = '23',
  'slot-size' = '40',
  'total-size' = '3992',
  'hop' = '30000000',
  'expire-after' = '315363900000000',
  'extend-hash' = 'true',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'bought@v1/buys+items+maker_makers/30s@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `bought__sales+items__30s__5m` (
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
  'key-prefix' = 'bought@v1:',
  'header' = '0160fcc58ea23a3f',
  'offset' = '3072',
  'slots' = '23',
  'slot-size' = '40',
  'total-size' = '3992',
  'hop' = '30000000',
  'expire-after' = '315363900000000',
  'extend-hash' = 'true',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'bought@v1/sales+items/30s@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `bought__buys+items__30s__5m__wide` (
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
  'key-prefix' = 'bought@v1:',
  'field-prefix' = 't:buys+items/30s@5m:',
  'slots' = '23',
  'hop' = '30000000',
  'expire-after' = '315363900000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'bought@v1/buys+items/30s@5m/states',
  'mark-every' = '60000000'
);

CREATE TABLE `bought__buys+items__latest__5m` (
  `k` STRING,
  `ts` BIGINT,
  `f0` STRING,
  PRIMARY KEY (`k`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'fields',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'bought@v1:',
  'fields' = 'l:last_tags',
  'expire-after' = '315363900000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'bought@v1/buys+items/latest@5m',
  'mark-every' = '60000000'
);

CREATE TEMPORARY VIEW `bought__buys+items__session_20s__5m__rows` AS
SELECT fdsl_key(`u`) AS `k`, `_ts`, `price` AS `c0`, `_rowtime`
FROM `buys+items__in_time`
WHERE NOT (`u` IS NULL);

CREATE TABLE `bought__buys+items__session_20s__5m` (
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
  'key-prefix' = 'bought@v1:',
  'field-prefix' = 's:buys+items/session_20s@5m',
  'slots' = '7',
  'hop' = '20000000',
  'expire-after' = '315363900000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'bought@v1/buys+items/session_20s@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `by_kind__buys+items__30s__5m` (
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
  'key-prefix' = 'by_kind@v1:',
  'header' = '015078638aff4a36',
  'offset' = '8',
  'slots' = '23',
  'slot-size' = '40',
  'total-size' = '1848',
  'hop' = '30000000',
  'expire-after' = '315360720000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'by_kind@v1/buys+items/30s@5m',
  'mark-every' = '60000000'
);

CREATE TABLE `by_kind__copies+items__30s__5m` (
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
  'key-prefix' = 'by_kind@v1:',
  'header' = '015078638aff4a36',
  'offset' = '928',
  'slots' = '23',
  'slot-size' = '40',
  'total-size' = '1848',
  'hop' = '30000000',
  'expire-after' = '315360720000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'by_kind@v1/copies+items/30s@5m',
  'mark-every' = '60000000'
);

INSERT INTO `bought__buys+items__30s__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CASE WHEN `n` > 0 THEN CASE WHEN `price` BETWEEN ((-9223372036854775807 - 1) / NULLIF(`n`, 0)) AND (9223372036854775807 / NULLIF(`n`, 0)) THEN (`price` * `n`) END WHEN `n` < -1 THEN CASE WHEN `price` BETWEEN (9223372036854775807 / NULLIF(`n`, 0)) AND ((-9223372036854775807 - 1) / NULLIF(NULLIF(`n`, 0), -1)) THEN (`price` * `n`) END WHEN `n` = -1 THEN CASE WHEN `price` > (-9223372036854775807 - 1) THEN (`price` * `n`) END ELSE (`price` * `n`) END) AS `c0`,
  SUM(CASE WHEN (`kind` IS NULL) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END) AS `c1`
FROM TABLE(TUMBLE(TABLE `buys+items__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000), `window_start`, `window_end`;

INSERT INTO `bought__buys+items__1m__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 60000000) + 60000000) % 60000000)) / 60000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CASE WHEN (`kind` = 'book') THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END) AS `c0`
FROM TABLE(TUMBLE(TABLE `buys+items__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 60000000) + 60000000) % 60000000)) / 60000000), `window_start`, `window_end`;

INSERT INTO `bought__buys+items+maker_makers__30s__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CASE WHEN (`maker_country` <> 'here') THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END) AS `c0`
FROM TABLE(TUMBLE(TABLE `buys+items+maker_makers__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000), `window_start`, `window_end`;

INSERT INTO `bought__sales+items__30s__5m`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(`price`) AS `c0`
FROM TABLE(TUMBLE(TABLE `sales+items__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000), `window_start`, `window_end`;

INSERT INTO `bought__buys+items__30s__5m__wide`
SELECT fdsl_key(`u`) AS `k`, ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  fdsl_wide('last_k', '{"k":3}', (NOT (`kind` IS NULL)), `_ts`, `kind`, `kind`) AS `s0`
FROM TABLE(TUMBLE(TABLE `buys+items__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000), `window_start`, `window_end`;

INSERT INTO `bought__buys+items__latest__5m`
SELECT fdsl_key(`u`) AS `k`, MAX(`_ts`) AS `ts`,
  MAX(fdsl_rank(`_ts`, `u`, `x`, `n`, `price`, `kind`, `tags`)) AS `f0`
FROM TABLE(TUMBLE(TABLE `buys+items__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`u` IS NULL)
GROUP BY fdsl_key(`u`), `window_start`, `window_end`;

INSERT INTO `bought__buys+items__session_20s__5m`
SELECT `k`, `first_us`, `last_us`, `n`, `content`
FROM fdsl_sessions(input => TABLE `bought__buys+items__session_20s__5m__rows` PARTITION BY `k`,
  gapUs => CAST(20000000 AS BIGINT), parts => '[{"merge":"sum"}]',
  maxBytes => 149796, live => FALSE,
  on_time => DESCRIPTOR(`_rowtime`), uid => 'sessions-acd0954c00a5');

INSERT INTO `by_kind__buys+items__30s__5m`
SELECT fdsl_key(`kind`) AS `k`, ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM TABLE(TUMBLE(TABLE `buys+items__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`kind` IS NULL)
GROUP BY fdsl_key(`kind`), ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000), `window_start`, `window_end`;

INSERT INTO `by_kind__copies+items__30s__5m`
SELECT fdsl_key(`kind`) AS `k`, ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(`n`) AS `c0`
FROM TABLE(TUMBLE(TABLE `copies+items__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE NOT (`kind` IS NULL)
GROUP BY fdsl_key(`kind`), ((`_ts` - (((`_ts` % 30000000) + 30000000) % 30000000)) / 30000000), `window_start`, `window_end`;

INSERT INTO `items__dlq`
SELECT 'p.items', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`x` IS NULL) THEN 'null_entity' END AS `_why` FROM `items`)
WHERE `_why` IS NOT NULL;

INSERT INTO `items__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('items|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`x` IS NULL) THEN 'null_entity' END, 'accepted') END AS `outcome` FROM `items`) AS `e`
GROUP BY `outcome`;
