INSERT INTO sessions (id_hash, record, expires_at) VALUES ($1, $2, $3)
ON CONFLICT (id_hash) DO NOTHING
