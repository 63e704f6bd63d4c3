INSERT INTO charges (
    run_id, seq, node_id, pool_id, period_id, kind, gpus, starts_at, ends_at, amount_gpu_seconds
)
SELECT $1, COALESCE(MAX(seq), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9 FROM charges WHERE run_id = $1
