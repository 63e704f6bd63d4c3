SELECT record FROM sessions WHERE id_hash = $1 AND expires_at > $2
