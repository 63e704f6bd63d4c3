UPDATE sessions SET record = $2, expires_at = $3 WHERE id_hash = $1
