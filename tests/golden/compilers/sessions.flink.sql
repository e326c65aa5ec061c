CREATE TEMPORARY SYSTEM FUNCTION fdsl_sessions AS 'dev.featuredsl.flink.session.SessionFunction';

CREATE TEMPORARY VIEW `web__in_time` AS
SELECT `user`, `item`, `price`, `n`, `_ts`, `_rowtime` FROM `web`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE;

CREATE TEMPORARY VIEW `both__in_time` AS
SELECT `user`, `item`, `price`, `n`, `_ts`, `_rowtime` FROM `web`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE
UNION ALL SELECT `user`, `item`, `price`, `n`, `_ts`, `_rowtime` FROM `app`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND (`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)) IS NOT TRUE;

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

CREATE TEMPORARY VIEW `sessions__web__session_1m__rows` AS
SELECT fdsl_key(`user`, `n`) AS `k`, `_ts`, (NOT (`item` IS NULL)) AS `c0`, `item` AS `c1`, (NOT (`item` IS NULL)) AS `c2`, `item` AS `c3`, `n` AS `c4`, `item` AS `c5`, `_rowtime`
FROM `web__in_time`
WHERE NOT (`user` IS NULL OR `n` IS NULL);

CREATE TABLE `sessions__web__session_1m` (
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
  'key-prefix' = 'sessions@v1:',
  'field-prefix' = 's:web/session_1m',
  'slots' = '4',
  'hop' = '60000000',
  'expire-after' = '604800000000'
);

CREATE TEMPORARY VIEW `sessions__both__session_200m__rows` AS
SELECT fdsl_key(`user`, `n`) AS `k`, `_ts`, CAST(1 AS BIGINT) AS `c0`, `_rowtime`
FROM `both__in_time`
WHERE NOT (`user` IS NULL OR `n` IS NULL);

CREATE TABLE `sessions__both__session_200m` (
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
  'key-prefix' = 'sessions@v1:',
  'field-prefix' = 's:both/session_200m',
  'slots' = '3',
  'hop' = '12000000000',
  'expire-after' = '604800000000'
);

CREATE TEMPORARY VIEW `sessions__web__session_30m__5m__rows` AS
SELECT fdsl_key(`user`, `n`) AS `k`, `_ts`, CAST(1 AS BIGINT) AS `c0`, `price` AS `c1`, CASE WHEN (`price` IS NULL) THEN CAST(NULL AS BIGINT) ELSE CAST(1 AS BIGINT) END AS `c2`, `_rowtime`
FROM `web__in_time`
WHERE NOT (`user` IS NULL OR `n` IS NULL);

CREATE TABLE `sessions__web__session_30m__5m` (
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
  'key-prefix' = 'sessions@v1:',
  'field-prefix' = 's:web/session_30m@5m',
  'slots' = '3',
  'hop' = '1800000000',
  'expire-after' = '604800000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'sessions@v1/web/session_30m@5m',
  'mark-every' = '60000000'
);

CREATE TEMPORARY VIEW `sessions__web__session_30m_fa050173__5m__rows` AS
SELECT fdsl_key(`user`, `n`) AS `k`, `_ts`, CASE WHEN (CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END > 9.0e0) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END AS `c0`, `_rowtime`
FROM `web__in_time`
WHERE NOT (`user` IS NULL OR `n` IS NULL) AND ((CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END > 9.0e0));

CREATE TABLE `sessions__web__session_30m_fa050173__5m` (
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
  'key-prefix' = 'sessions@v1:',
  'field-prefix' = 's:web/session_30m_fa050173@5m',
  'slots' = '3',
  'hop' = '1800000000',
  'expire-after' = '604800000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'sessions@v1/web/session_30m_fa050173@5m',
  'mark-every' = '60000000'
);

CREATE TEMPORARY VIEW `sessions__web__session_30m_b7562a90__5m__rows` AS
SELECT fdsl_key(`user`, `n`) AS `k`, `_ts`, CASE WHEN (CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END > 9.0e0) THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END AS `c0`, CASE WHEN (`item` = 'a') THEN CAST(1 AS BIGINT) ELSE CAST(NULL AS BIGINT) END AS `c1`, `_rowtime`
FROM `web__in_time`
WHERE NOT (`user` IS NULL OR `n` IS NULL) AND (((CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END > 9.0e0) OR (`item` = 'a')));

CREATE TABLE `sessions__web__session_30m_b7562a90__5m` (
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
  'key-prefix' = 'sessions@v1:',
  'field-prefix' = 's:web/session_30m_b7562a90@5m',
  'slots' = '3',
  'hop' = '1800000000',
  'expire-after' = '604800000000',
  'mark-key' = 'featuredsl:p.closed',
  'mark-field' = 'sessions@v1/web/session_30m_b7562a90@5m',
  'mark-every' = '60000000'
);

INSERT INTO `web__late`
SELECT 'p.web', `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),
  SUBSTRING(TO_BASE64(`_raw`), 1, 955732), SHA256(`_raw`)
FROM TABLE(TUMBLE(TABLE `web`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` <= CURRENT_WATERMARK(`_rowtime`) AND NOT ((`user` IS NULL OR `n` IS NULL));

INSERT INTO `app__late`
SELECT 'p.app', `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),
  SUBSTRING(TO_BASE64(`_raw`), 1, 955732), SHA256(`_raw`)
FROM TABLE(TUMBLE(TABLE `app`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE))
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` <= CURRENT_WATERMARK(`_rowtime`) AND NOT ((`user` IS NULL OR `n` IS NULL));

INSERT INTO `sessions__web__session_1m`
SELECT `k`, `first_us`, `last_us`, `n`, `content`
FROM fdsl_sessions(input => TABLE `sessions__web__session_1m__rows` PARTITION BY `k`,
  gapUs => CAST(60000000 AS BIGINT), parts => '[{"kind":"min","params":"{}","values":1},{"kind":"last_k","params":"{\"k\":3}","values":3}]',
  maxBytes => 262144, live => TRUE,
  on_time => DESCRIPTOR(`_rowtime`), uid => 'sessions-baddc9ba87eb');

INSERT INTO `sessions__both__session_200m`
SELECT `k`, `first_us`, `last_us`, `n`, `content`
FROM fdsl_sessions(input => TABLE `sessions__both__session_200m__rows` PARTITION BY `k`,
  gapUs => CAST(12000000000 AS BIGINT), parts => '[{"merge":"sum"}]',
  maxBytes => 349525, live => TRUE,
  on_time => DESCRIPTOR(`_rowtime`), uid => 'sessions-8aae1b31dafd');

INSERT INTO `sessions__web__session_30m__5m`
SELECT `k`, `first_us`, `last_us`, `n`, `content`
FROM fdsl_sessions(input => TABLE `sessions__web__session_30m__5m__rows` PARTITION BY `k`,
  gapUs => CAST(1800000000 AS BIGINT), parts => '[{"merge":"sum"},{"merge":"sum"},{"merge":"sum"}]',
  maxBytes => 349525, live => FALSE,
  on_time => DESCRIPTOR(`_rowtime`), uid => 'sessions-8624df3eed10');

INSERT INTO `sessions__web__session_30m_fa050173__5m`
SELECT `k`, `first_us`, `last_us`, `n`, `content`
FROM fdsl_sessions(input => TABLE `sessions__web__session_30m_fa050173__5m__rows` PARTITION BY `k`,
  gapUs => CAST(1800000000 AS BIGINT), parts => '[{"merge":"sum"}]',
  maxBytes => 349525, live => FALSE,
  on_time => DESCRIPTOR(`_rowtime`), uid => 'sessions-adc50dcd4388');

INSERT INTO `sessions__web__session_30m_b7562a90__5m`
SELECT `k`, `first_us`, `last_us`, `n`, `content`
FROM fdsl_sessions(input => TABLE `sessions__web__session_30m_b7562a90__5m__rows` PARTITION BY `k`,
  gapUs => CAST(1800000000 AS BIGINT), parts => '[{"merge":"sum"},{"merge":"sum"}]',
  maxBytes => 349525, live => FALSE,
  on_time => DESCRIPTOR(`_rowtime`), uid => 'sessions-d65793a1506b');
