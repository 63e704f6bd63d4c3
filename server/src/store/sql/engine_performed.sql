UPDATE outbox SET performed_at = $2 WHERE id = $1 AND performed_at IS NULL
