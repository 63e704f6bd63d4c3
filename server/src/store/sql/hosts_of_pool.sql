SELECT id, pool_id, block_id, gpus, state FROM hosts WHERE pool_id = $1 ORDER BY block_id, id
