CREATE TEMPORARY SYSTEM FUNCTION DecisionJoin AS 'dev.featuredsl.flink.join.DecisionJoin' LANGUAGE JAVA;

CREATE TEMPORARY SYSTEM FUNCTION CatalogLookup AS 'dev.featuredsl.flink.join.CatalogLookup' LANGUAGE JAVA;

CREATE TEMPORARY SYSTEM FUNCTION ccb_check AS 'jobs.flink.join_udf.check' LANGUAGE PYTHON;

CREATE TEMPORARY SYSTEM FUNCTION ccb_label AS 'jobs.flink.join_udf.label' LANGUAGE PYTHON;

CREATE TEMPORARY TABLE `impressions_in` (
  `event_id` STRING,
  `_raw` STRING, `_reject` STRING, `_detail` STRING, `_payload` STRING, `_sha256` STRING,
  `_heartbeat` BOOLEAN, `_ts` BIGINT,
  `_partition` INT METADATA FROM 'partition' VIRTUAL,
  `_offset` BIGINT METADATA FROM 'offset' VIRTUAL,
  `_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  `rt` AS TO_TIMESTAMP_LTZ(COALESCE(`_ts`, 0) / 1000 + 3155760000000, 3),
  WATERMARK FOR `rt` AS TO_TIMESTAMP_LTZ(CASE WHEN TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, 86400, `_ktime`) THEN 0 ELSE COALESCE(`_ts`, 0) / 1000 END - 10000, 3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.impressions',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'p.join',
  'properties.isolation.level' = 'read_committed',
  'properties.fetch.min.bytes' = '65536',
  'properties.fetch.max.wait.ms' = '200',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.required' = 'event_id'
);

CREATE TEMPORARY VIEW `impressions_checked` AS
SELECT event_id, `_ts` AS ts, `_raw` AS record_text, `_payload` AS original, `_sha256` AS digest,
  `_partition` AS source_partition, `_offset` AS source_offset, rt,
  CASE WHEN `_reject` IS NOT NULL THEN `_reject` || ': ' || COALESCE(`_detail`, '')
    WHEN TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, 86400, `_ktime`) THEN 'future_time: the time is too far ahead of the broker''s clock'
    WHEN event_id = '' THEN 'empty: event_id is empty'
    WHEN CHAR_LENGTH(event_id) > 512 THEN 'too_large: event_id is longer than 512'
    ELSE problem END AS verdict
FROM `impressions_in`, LATERAL TABLE(ccb_check('impression', `_raw`)) AS v (problem)
WHERE `_heartbeat` IS NOT TRUE;

CREATE TEMPORARY TABLE `clicks_in` (
  `event_id` STRING, `slot_id` STRING, `value` DOUBLE,
  `_raw` STRING, `_reject` STRING, `_detail` STRING, `_payload` STRING, `_sha256` STRING,
  `_heartbeat` BOOLEAN, `_ts` BIGINT,
  `_partition` INT METADATA FROM 'partition' VIRTUAL,
  `_offset` BIGINT METADATA FROM 'offset' VIRTUAL,
  `_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  `rt` AS TO_TIMESTAMP_LTZ(COALESCE(`_ts`, 0) / 1000 + 3155760000000, 3),
  WATERMARK FOR `rt` AS TO_TIMESTAMP_LTZ(CASE WHEN TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, 86400, `_ktime`) THEN 0 ELSE COALESCE(`_ts`, 0) / 1000 END - 10000, 3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.clicks',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'p.join',
  'properties.isolation.level' = 'read_committed',
  'properties.fetch.min.bytes' = '65536',
  'properties.fetch.max.wait.ms' = '200',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.required' = 'event_id;slot_id'
);

CREATE TEMPORARY VIEW `clicks_checked` AS
SELECT event_id, slot_id, `value` AS click_value, `_ts` AS ts, `_raw` AS record_text, `_payload` AS original, `_sha256` AS digest,
  `_partition` AS source_partition, `_offset` AS source_offset, rt,
  CASE WHEN `_reject` IS NOT NULL THEN `_reject` || ': ' || COALESCE(`_detail`, '')
    WHEN TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, 86400, `_ktime`) THEN 'future_time: the time is too far ahead of the broker''s clock'
    WHEN event_id = '' THEN 'empty: event_id is empty'
    WHEN CHAR_LENGTH(event_id) > 512 THEN 'too_large: event_id is longer than 512'
    WHEN slot_id = '' THEN 'empty: slot_id is empty'
    WHEN CHAR_LENGTH(slot_id) > 512 THEN 'too_large: slot_id is longer than 512'
    ELSE CAST(NULL AS STRING) END AS verdict
FROM `clicks_in`
WHERE `_heartbeat` IS NOT TRUE;

CREATE TEMPORARY TABLE `catalog_in` (
  `action_id` STRING, `features` STRING,
  `_raw` STRING, `_reject` STRING, `_detail` STRING, `_payload` STRING, `_sha256` STRING,
  `_heartbeat` BOOLEAN, `_ts` BIGINT,
  `_partition` INT METADATA FROM 'partition' VIRTUAL,
  `_offset` BIGINT METADATA FROM 'offset' VIRTUAL,
  `_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  `rt` AS TO_TIMESTAMP_LTZ(COALESCE(`_ts`, 0) / 1000 + 3155760000000, 3),
  WATERMARK FOR `rt` AS TO_TIMESTAMP_LTZ(CASE WHEN TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, 86400, `_ktime`) THEN 0 ELSE COALESCE(`_ts`, 0) / 1000 END - 10000, 3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'p.catalog',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.group.id' = 'p.join',
  'properties.isolation.level' = 'read_committed',
  'properties.fetch.min.bytes' = '65536',
  'properties.fetch.max.wait.ms' = '200',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.required' = 'action_id'
);

CREATE TEMPORARY VIEW `catalog_checked` AS
SELECT action_id, features, `_ts` AS ts, `_raw` AS record_text, `_payload` AS original, `_sha256` AS digest,
  `_partition` AS source_partition, `_offset` AS source_offset, rt,
  CASE WHEN `_reject` IS NOT NULL THEN `_reject` || ': ' || COALESCE(`_detail`, '')
    WHEN TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, 86400, `_ktime`) THEN 'future_time: the time is too far ahead of the broker''s clock'
    WHEN action_id = '' THEN 'empty: action_id is empty'
    WHEN CHAR_LENGTH(action_id) > 512 THEN 'too_large: action_id is longer than 512'
    ELSE problem END AS verdict
FROM `catalog_in`, LATERAL TABLE(ccb_check('catalog', `_raw`)) AS v (problem)
WHERE `_heartbeat` IS NOT TRUE;

CREATE TEMPORARY VIEW records (kind, event_id, ts, payload, slot_id, click_value, source_partition, source_offset, rt) AS
SELECT 'impression', event_id, ts, record_text, CAST(NULL AS STRING), CAST(NULL AS DOUBLE), source_partition, source_offset, rt
FROM `impressions_checked` WHERE verdict IS NULL
UNION ALL SELECT 'click', event_id, ts, CAST(NULL AS STRING), slot_id, click_value, source_partition, source_offset, rt
FROM `clicks_checked` WHERE verdict IS NULL;

CREATE TEMPORARY VIEW joined AS
SELECT * FROM DecisionJoin(input => TABLE records PARTITION BY event_id, windowUs => CAST(1800000000 AS BIGINT), lateUs => CAST(86400000000 AS BIGINT), on_time => DESCRIPTOR(rt), uid => 'decision-join');

CREATE TEMPORARY VIEW lookups (shard, kind, event_id, action_id, ts, payload, source_partition, source_offset, clicks, auction, activation, rt) AS
SELECT CAST(MOD(source_offset, 2) AS INT), 'decision', event_id, CAST(NULL AS STRING), ts, payload,
  source_partition, source_offset, clicks, auction, activation, rowtime
FROM joined WHERE kind = 'decision'
UNION ALL SELECT 0, 'catalog', CAST(NULL AS STRING), action_id, ts, features,
  CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS BIGINT), rt
FROM catalog_checked WHERE verdict IS NULL
UNION ALL SELECT 1, 'catalog', CAST(NULL AS STRING), action_id, ts, features,
  CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS BIGINT), rt
FROM catalog_checked WHERE verdict IS NULL;

CREATE TEMPORARY VIEW enriched AS
SELECT * FROM CatalogLookup(input => TABLE lookups PARTITION BY shard, keepUs => CAST(176400000000 AS BIGINT), on_time => DESCRIPTOR(rt), uid => 'catalog-lookup');

CREATE TEMPORARY VIEW labelled AS
SELECT event_id, ts, payload, source_partition, source_offset, l.kind, l.body, l.clicked, l.stray
FROM enriched, LATERAL TABLE(ccb_label(payload, clicks, auction, activation, catalog, '{"window_ms": 1800000, "late_ms": 86400000, "reward": "click"}')) AS l (kind, body, clicked, stray);

CREATE TEMPORARY TABLE `impressions_dlq` (
  `topic` STRING, `partition` INT, `offset` BIGINT, `ts` BIGINT, `reason` STRING, `detail` STRING, `payload` STRING, `sha256` STRING
) WITH (
  'connector' = 'kafka',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.max.request.size' = '8388608',
  'topic' = 'p.impressions.dlq',
  'format' = 'json'
);

CREATE TEMPORARY TABLE `clicks_dlq` (
  `topic` STRING, `partition` INT, `offset` BIGINT, `ts` BIGINT, `reason` STRING, `detail` STRING, `payload` STRING, `sha256` STRING
) WITH (
  'connector' = 'kafka',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.max.request.size' = '8388608',
  'topic' = 'p.clicks.dlq',
  'format' = 'json'
);

CREATE TEMPORARY TABLE `catalog_dlq` (
  `topic` STRING, `partition` INT, `offset` BIGINT, `ts` BIGINT, `reason` STRING, `detail` STRING, `payload` STRING, `sha256` STRING
) WITH (
  'connector' = 'kafka',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.max.request.size' = '8388608',
  'topic' = 'p.catalog.dlq',
  'format' = 'json'
);

CREATE TEMPORARY TABLE `examples_out` (
  event_id STRING, body STRING
) WITH (
  'connector' = 'kafka',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.max.request.size' = '8388608',
  'topic' = 'p.ccb_examples',
  'key.format' = 'raw',
  'key.fields' = 'event_id',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY',
  'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'p.join-ccb_examples',
  'properties.transaction.timeout.ms' = '600000'
);

CREATE TEMPORARY TABLE `late_out` (
  event_id STRING, slot_id STRING, ts BIGINT, `value` DOUBLE, impression_ts BIGINT, delay_ms BIGINT, reason STRING
) WITH (
  'connector' = 'kafka',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.max.request.size' = '8388608',
  'topic' = 'p.late_clicks',
  'key.format' = 'raw',
  'key.fields' = 'event_id',
  'value.format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'p.join-late_clicks',
  'properties.transaction.timeout.ms' = '600000'
);

CREATE TEMPORARY TABLE `counts_out` (
  name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'properties.bootstrap.servers' = 'kafka:1',
  'properties.max.request.size' = '8388608',
  'topic' = 'p.join_counts',
  'key.format' = 'raw',
  'value.format' = 'json'
);

INSERT INTO `impressions_dlq`
SELECT 'p.impressions', source_partition, source_offset, ts / 1000,
  SUBSTRING(verdict, 1, POSITION(':' IN verdict) - 1), SUBSTRING(verdict, POSITION(':' IN verdict) + 2),
  COALESCE(original, TO_BASE64(SUBSTRING(record_text, 1, 180000))), COALESCE(digest, SHA256(record_text))
FROM `impressions_checked` WHERE verdict IS NOT NULL
UNION ALL SELECT 'p.impressions', source_partition, source_offset, ts / 1000,
  'too_late', 'the decision is older than the time for which decisions are remembered', TO_BASE64(SUBSTRING(payload, 1, 180000)), SHA256(payload)
FROM joined WHERE kind = 'too_late'
UNION ALL SELECT 'p.impressions', source_partition, source_offset, ts / 1000,
  SUBSTRING(body, 1, POSITION(':' IN body) - 1), SUBSTRING(body, POSITION(':' IN body) + 2), TO_BASE64(SUBSTRING(payload, 1, 180000)), SHA256(payload)
FROM labelled WHERE kind = 'rejected';

INSERT INTO `clicks_dlq`
SELECT 'p.clicks', source_partition, source_offset, ts / 1000,
  SUBSTRING(verdict, 1, POSITION(':' IN verdict) - 1), SUBSTRING(verdict, POSITION(':' IN verdict) + 2),
  COALESCE(original, TO_BASE64(SUBSTRING(record_text, 1, 180000))), COALESCE(digest, SHA256(record_text))
FROM `clicks_checked` WHERE verdict IS NOT NULL;

INSERT INTO `catalog_dlq`
SELECT 'p.catalog', source_partition, source_offset, ts / 1000,
  SUBSTRING(verdict, 1, POSITION(':' IN verdict) - 1), SUBSTRING(verdict, POSITION(':' IN verdict) + 2),
  COALESCE(original, TO_BASE64(SUBSTRING(record_text, 1, 180000))), COALESCE(digest, SHA256(record_text))
FROM `catalog_checked` WHERE verdict IS NOT NULL;

INSERT INTO examples_out
SELECT event_id, body FROM labelled WHERE kind = 'example';

INSERT INTO late_out
SELECT event_id, slot_id, click_ts / 1000, click_value, ts / 1000, (click_ts - ts) / 1000, kind
FROM joined WHERE kind IN ('late_click', 'straggler_click');

INSERT INTO counts_out
SELECT name, CAST(SUM(n) AS BIGINT) FROM (
SELECT kind || CASE WHEN kind LIKE '%_click' OR kind = 'duplicate' THEN 's' ELSE '' END AS name, 1 AS n
FROM joined WHERE kind <> 'decision'
UNION ALL SELECT CASE kind WHEN 'example' THEN 'examples' ELSE kind END, 1 FROM labelled
UNION ALL SELECT 'clicked', 1 FROM labelled WHERE clicked
UNION ALL SELECT 'orphan_clicks', stray FROM labelled WHERE stray > 0
UNION ALL SELECT 'impressions', 1 FROM `impressions_checked`
UNION ALL SELECT 'invalid_impressions', 1 FROM `impressions_checked` WHERE verdict IS NOT NULL
UNION ALL SELECT 'clicks', 1 FROM `clicks_checked`
UNION ALL SELECT 'invalid_clicks', 1 FROM `clicks_checked` WHERE verdict IS NOT NULL
UNION ALL SELECT 'catalog', 1 FROM `catalog_checked`
UNION ALL SELECT 'invalid_catalog', 1 FROM `catalog_checked` WHERE verdict IS NOT NULL
) GROUP BY name;
