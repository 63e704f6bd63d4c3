INSERT INTO hosts (id, pool_id, block_id, gpus, state) VALUES ($1, $2, $3, $4, $5)
