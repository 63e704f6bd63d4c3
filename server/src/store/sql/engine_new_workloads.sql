SELECT * FROM workloads WHERE pool_id = $1 AND id > $2 AND ended_at IS NULL ORDER BY id LIMIT $3
