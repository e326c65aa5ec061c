CREATE TEMPORARY SYSTEM FUNCTION fdsl_wide AS 'dev.featuredsl.flink.wide.WideFunction';

CREATE TABLE `wide__web__5m__wide` (
  `k` STRING,
  `tile` BIGINT,
  `n` BIGINT,
  `hwm` BIGINT,
  `s0` BYTES,
  `s1` BYTES,
  `s2` BYTES,
  `s3` BYTES,
  `s4` BYTES,
  `s5` BYTES,
  PRIMARY KEY (`k`, `tile`) NOT ENFORCED
) WITH (
  'connector' = 'featuredsl-redis',
  'mode' = 'tiles',
  'url' = 'redis://redis:1/0',
  'key-prefix' = 'wide@v1:',
  'field-prefix' = 't:web/5m:',
  'slots' = '14',
  'hop' = '300000000',
  'expire-after' = '612000000000'
);

CREATE TABLE `wide__web__1h__wide` (
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
  'key-prefix' = 'wide@v1:',
  'field-prefix' = 't:web/1h:',
  'slots' = '3',
  'hop' = '3600000000',
  'expire-after' = '612000000000'
);

CREATE TABLE `wide__both__5m__wide` (
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
  'key-prefix' = 'wide@v1:',
  'field-prefix' = 't:both/5m:',
  'slots' = '14',
  'hop' = '300000000',
  'expire-after' = '612000000000'
);

CREATE TABLE `wide__app__5m__wide` (
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
  'key-prefix' = 'wide@v1:',
  'field-prefix' = 't:app/5m:',
  'slots' = '14',
  'hop' = '300000000',
  'expire-after' = '612000000000'
);

INSERT INTO `wide__web__5m__wide`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  fdsl_wide('most_frequent', '{}', ((CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END > 0.0e0) AND (NOT (`item` IS NULL))), `_ts`, `item`) AS `s0`,
  fdsl_wide('approx_distinct', '{}', (NOT (`item` IS NULL)), `_ts`, `item`) AS `s1`,
  fdsl_wide('approx_quantile', '{"q":0.5}', (NOT (CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END IS NULL)), `_ts`, CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END) AS `s2`,
  fdsl_wide('decayed_sum', '{"half_life_us":1800000000}', (NOT (CAST(`n` AS DOUBLE) IS NULL)), `_ts`, CAST(`n` AS DOUBLE)) AS `s3`,
  fdsl_wide('decayed_count', '{"half_life_us":1800000000}', TRUE, `_ts`, CAST(1 AS BIGINT)) AS `s4`,
  fdsl_wide('min', '{}', (NOT (CASE WHEN (`n` > CAST(1 AS BIGINT)) THEN `item` ELSE CAST(NULL AS STRING) END IS NULL)), `_ts`, CASE WHEN (`n` > CAST(1 AS BIGINT)) THEN `item` ELSE CAST(NULL AS STRING) END) AS `s5`
FROM `web`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `wide__web__1h__wide`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  fdsl_wide('most_frequent', '{}', ((CASE WHEN `price` BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN `price` END > 0.0e0) AND (NOT (`item` IS NULL))), `_ts`, `item`) AS `s0`
FROM `web`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000);

INSERT INTO `wide__both__5m__wide`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  fdsl_wide('last_k', '{"k":5}', (NOT (`n` IS NULL)), `_ts`, `n`, `arrival_us`, `n`) AS `s0`
FROM `both`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);

INSERT INTO `wide__app__5m__wide`
SELECT fdsl_key(`user`) AS `k`, ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000) AS `tile`,
  COUNT(*) AS `n`,
  MAX(`_ts`) AS `hwm`,
  fdsl_wide('first', '{}', TRUE, `_ts`, `item`, (`seen` * 1000), `user`, `item`, `price`, `n`) AS `s0`
FROM `app`
WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT (`user` IS NULL)
GROUP BY fdsl_key(`user`), ((`_ts` - (((`_ts` % 300000000) + 300000000) % 300000000)) / 300000000);
