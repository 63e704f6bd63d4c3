SELECT node_id, kind, gpus, starts_at, ends_at, amount_gpu_seconds
FROM charges
WHERE pool_id = $1 AND ends_at > $2
ORDER BY starts_at, run_id, seq
