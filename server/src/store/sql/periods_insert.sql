INSERT INTO periods (id, starts_at, ends_at, zone) VALUES ($1, $2, $3, $4)
