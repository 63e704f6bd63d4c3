INSERT INTO balances (node_id, pool_id, period_id, own_gpu_seconds, accrued_gpu_seconds, accrued_at, version)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (pool_id, period_id, node_id) DO UPDATE SET
    own_gpu_seconds = excluded.own_gpu_seconds,
    accrued_gpu_seconds = excluded.accrued_gpu_seconds,
    accrued_at = excluded.accrued_at,
    version = excluded.version
WHERE balances.version = excluded.version - 1
