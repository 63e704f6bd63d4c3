SELECT MIN(starts_at) FROM charges WHERE pool_id = $1
