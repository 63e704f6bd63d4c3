DELETE FROM sessions WHERE id_hash = $1
