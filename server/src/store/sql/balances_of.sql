SELECT node_id, own_gpu_seconds, accrued_gpu_seconds, accrued_at, version
FROM balances
WHERE pool_id = $1 AND period_id = $2
ORDER BY node_id
