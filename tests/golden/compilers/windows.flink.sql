CREATE TABLE `tiles__clicks__10s` (
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
  'key-prefix' = 'tiles@v1:',
  'header' = '0146abc13b888dbd',
  'offset' = '568',
  'slots' = '8',
  'slot-size' = '40',
  'total-size' = '888',
  'hop' = '10000000',
  'expire-after' = '651600000000'
);

INSERT INTO `clicks__dlq`
SELECT 'p.clicks', `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, CASE WHEN `_ahead` IS TRUE THEN 'event time is over 60 s ahead of the record''s time' END),
  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, 955732)),
  COALESCE(`_sha256`, SHA256(`_raw`))
FROM (SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`user` IS NULL) THEN 'null_entity' END AS `_why` FROM `clicks`)
WHERE `_why` IS NOT NULL;

INSERT INTO `clicks__progress`
SELECT /*+ STATE_TTL('e' = '0 ms') */ CONCAT('clicks|', `outcome`), COALESCE(MAX(`_ts`), 0),
  LPAD(CAST(COUNT(*) AS STRING), 19, '0'), LPAD(CAST(GREATEST(COALESCE(MAX(`_ts`), 0), 0) AS STRING), 19, '0')
FROM (SELECT `_ts`, CASE WHEN `_heartbeat` IS TRUE THEN 'heartbeat' ELSE COALESCE(CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) WHEN `_ahead` IS TRUE THEN 'future_time' WHEN (`user` IS NULL) THEN 'null_entity' END, CASE WHEN fdsl_age(`_ts`, `_ktime`) > 46800000000 THEN 'late' END, 'accepted') END AS `outcome` FROM `clicks`) AS `e`
GROUP BY `outcome`;

INSERT INTO `tiles__clicks__1h`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `clicks`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000);

INSERT INTO `tiles__clicks__10s`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 10000000) + 10000000) % 10000000)) / 10000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `clicks`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 10000000) + 10000000) % 10000000)) / 10000000);
