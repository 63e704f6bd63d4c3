INSERT INTO people (id, name, active) VALUES ($1, $2, $3)
