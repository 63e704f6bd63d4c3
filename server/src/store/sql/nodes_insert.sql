INSERT INTO nodes (id, parent_id, kind, name, hue) VALUES ($1, $2, $3, $4, $5)
