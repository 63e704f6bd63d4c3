SELECT * FROM workloads WHERE pool_id = $1 AND ended_at IS NULL ORDER BY id
