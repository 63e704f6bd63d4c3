SELECT body_hash, status, response FROM idempotency_keys WHERE person_id = $1 AND idempotency_key = $2
