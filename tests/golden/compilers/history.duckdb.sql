WITH events AS (
  SELECT "user", ts_us AS fdsl_t0, CAST(NULL AS BIGINT) AS fdsl_t1, CASE WHEN (CASE WHEN "price" BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN "price" END > 9.0e0) THEN "price" ELSE CAST(NULL AS DOUBLE) END AS fdsl_c0, CAST(NULL AS BIGINT) AS fdsl_c1, CAST(1 AS BIGINT) AS fdsl_c2
  FROM "clicks" WHERE ts_us < 1767225600000000 AND "user" IS NOT NULL
  UNION ALL SELECT "user", CAST(NULL AS BIGINT) AS fdsl_t0, ts_us AS fdsl_t1, CAST(NULL AS DOUBLE) AS fdsl_c0, "seen" AS fdsl_c1, CAST(NULL AS BIGINT) AS fdsl_c2
  FROM "views" WHERE ts_us < 1767225600000000 AND "user" IS NOT NULL AND arrival_us <= 1767226200000000)
SELECT "user", MAX(fdsl_t0) AS fdsl_t0, MAX(fdsl_t1) AS fdsl_t1, CAST(SUM(fdsl_c0) AS DOUBLE) AS fdsl_c0, CAST(SUM(fdsl_c1) AS VARCHAR) AS fdsl_c1, CAST(SUM(fdsl_c2) AS VARCHAR) AS fdsl_c2
FROM events GROUP BY "user";
