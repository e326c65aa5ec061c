CREATE TEMPORARY SYSTEM FUNCTION fdsl_observations AS 'dev.featuredsl.flink.monitor.Observations' LANGUAGE JAVA;

CREATE TEMPORARY TABLE `predictions_in` (
  request_id STRING, model STRING, model_version STRING, features STRING, prediction STRING,
  latency_ms DOUBLE, error STRING, fallback STRING,
  `_raw` STRING, `_reject` STRING, `_detail` STRING, `_payload` STRING, `_sha256` STRING,
  `_heartbeat` BOOLEAN, `_ts` BIGINT,
  `_partition` INT METADATA FROM 'partition' VIRTUAL,
  `_offset` BIGINT METADATA FROM 'offset' VIRTUAL,
  `_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  rt AS TO_TIMESTAMP_LTZ(COALESCE(`_ts`, 0) / 1000, 3),
  WATERMARK FOR rt AS TO_TIMESTAMP_LTZ(CASE WHEN TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, 600, `_ktime`) THEN 0 ELSE COALESCE(`_ts`, 0) / 1000 END - 10000, 3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'demo.predictions',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'properties.group.id' = 'demo.drift',
  'properties.isolation.level' = 'read_committed',
  'properties.fetch.min.bytes' = '65536',
  'properties.fetch.max.wait.ms' = '200',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'featuredsl-json',
  'featuredsl-json.required' = 'request_id;model;features'
);

CREATE TEMPORARY VIEW checked AS
SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject`
    WHEN TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, 600, `_ktime`) THEN 'future_time'
    WHEN model = '' THEN 'empty'
    WHEN SUBSTRING(features, 1, 1) <> '{' THEN 'bad_type'
    WHEN CURRENT_WATERMARK(rt) IS NOT NULL AND TO_TIMESTAMP_LTZ((_ts / 1000 / 3600000 + 1) * 3600000 - 1, 3) <= CURRENT_WATERMARK(rt) THEN 'late' END AS verdict
FROM `predictions_in` WHERE `_heartbeat` IS NOT TRUE;

CREATE TEMPORARY VIEW observations AS
SELECT model, CASE WHEN o.per_version THEN COALESCE(model_version, '') ELSE '*' END AS version, o.series AS series,
  CASE WHEN o.str IS NOT NULL THEN 's' || SUBSTRING(o.str, 1, 128) WHEN o.truth IS NOT NULL THEN CASE WHEN o.truth THEN 'btrue' ELSE 'bfalse' END ELSE COALESCE('n' || CAST(CASE WHEN o.num IS NULL OR o.num <> o.num THEN CAST(NULL AS BIGINT) WHEN o.num = 0 THEN CAST(0 AS BIGINT) WHEN ABS(o.num) > CAST(1.7976931348623157e+308 AS DOUBLE) THEN CAST(SIGN(o.num) * 100000 AS BIGINT) ELSE CAST(SIGN(o.num) * (CEIL(LN(ABS(o.num)) / CAST(0.020000666706669435 AS DOUBLE)) + 40000) AS BIGINT) END AS STRING), 'm') END AS label, rt
FROM checked, LATERAL TABLE(fdsl_observations(features, prediction, latency_ms, error, fallback))
  AS o (series, per_version, num, str, truth)
WHERE verdict IS NULL;

CREATE TEMPORARY VIEW bucket_counts AS
SELECT model, version, series, label, window_time AS closed, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE observations, DESCRIPTOR(rt), INTERVAL '1' HOUR))
GROUP BY model, version, series, label, window_start, window_end, window_time;

CREATE TEMPORARY VIEW counted (model, version, series, body, closed_ms, `at`) AS
SELECT model, version, series, JSON_OBJECTAGG(KEY label VALUE n),
  CAST(EXTRACT(EPOCH FROM window_time) AS BIGINT) * 1000 + 999, CAST(window_time AS TIMESTAMP_LTZ(3))
FROM TABLE(TUMBLE(TABLE bucket_counts, DESCRIPTOR(closed), INTERVAL '1' HOUR))
GROUP BY model, version, series, window_start, window_end, window_time
UNION ALL SELECT CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), JSON_OBJECT(
    KEY 'topic' VALUE 'demo.predictions', KEY 'partition' VALUE `_partition`, KEY 'offset' VALUE `_offset`,
    KEY 'ts' VALUE `_ts` / 1000, KEY 'reason' VALUE verdict, KEY 'detail' VALUE CASE WHEN verdict = 'late'
      THEN 'the hour of the record was closed before it came' ELSE `_detail` END,
    KEY 'payload' VALUE COALESCE(`_payload`, TO_BASE64(SUBSTRING(`_raw`, 1, 180000))),
    KEY 'sha256' VALUE COALESCE(`_sha256`, SHA256(`_raw`))),
  CAST(NULL AS BIGINT), CAST(rt AS TIMESTAMP_LTZ(3))
FROM checked WHERE verdict IS NOT NULL;

SELECT model, ROW(version, series, body, closed_ms) AS counts FROM counted_rows WHERE series IS NOT NULL;

CREATE TEMPORARY TABLE `predictions_dlq` (body STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'demo.predictions.dlq',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'properties.max.request.size' = '8388608',
  'sink.delivery-guarantee' = 'at-least-once',
  'format' = 'raw'
);

CREATE TEMPORARY TABLE `drift_events_out` (k STRING, body STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'demo.drift_events',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'properties.max.request.size' = '8388608',
  'sink.delivery-guarantee' = 'at-least-once',
  'key.format' = 'raw',
  'key.fields' = 'k',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TEMPORARY TABLE `retrain_triggers_out` (k STRING, body STRING) WITH (
  'connector' = 'kafka',
  'topic' = 'demo.retrain_triggers',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'properties.max.request.size' = '8388608',
  'sink.delivery-guarantee' = 'at-least-once',
  'key.format' = 'raw',
  'key.fields' = 'k',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

INSERT INTO `predictions_dlq`
SELECT body FROM counted_rows WHERE series IS NULL;

INSERT INTO `drift_events_out`
SELECT k, body FROM monitor_output WHERE kind = 'event';

INSERT INTO `retrain_triggers_out`
SELECT k, body FROM monitor_output WHERE kind = 'trigger';
