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
  'header' = '01e643a8473b752f',
  'offset' = '568',
  'slots' = '3',
  'slot-size' = '40',
  'total-size' = '688',
  'hop' = '10000000',
  'expire-after' = '651600000000'
);

INSERT INTO `clicks__dlq`
SELECT 'p.clicks', `_partition`, `_offset`, `_ts` / 1000, COALESCE(`_reject`, 'null_entity'), `_detail`,
  COALESCE(`_payload`, TO_BASE64(`_raw`)), COALESCE(`_sha256`, SHA256(`_raw`))
FROM `clicks`
WHERE `_reject` IS NOT NULL OR (`_heartbeat` IS NOT TRUE AND ((`user` IS NULL)));

INSERT INTO `tiles__clicks__1h`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `clicks`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000);

INSERT INTO `tiles__clicks__10s`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 10000000) + 10000000) % 10000000)) / 10000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  SUM(CAST(1 AS BIGINT)) AS `c0`
FROM `clicks`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 10000000) + 10000000) % 10000000)) / 10000000);
