INSERT INTO idempotency_keys (person_id, idempotency_key, body_hash, status, response, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
