INSERT INTO arrivals (external_id, submit_at, spec) VALUES ($1, $2, $3)
