SELECT
    pools.id,
    pools.reserve_bp,
    pools.cap_s,
    pools.startup_s,
    pools.look_back,
    pools.window_s,
    pools.margin_milli,
    COUNT(hosts.id) AS hosts,
    COALESCE(SUM(hosts.gpus), 0) AS gpus,
    COALESCE(MAX(hosts.gpus), 0) AS gpus_per_host
FROM pools
LEFT JOIN hosts ON hosts.pool_id = pools.id
GROUP BY pools.id
ORDER BY pools.id
