INSERT INTO role_grants (person_id, role, node_id) VALUES ($1, $2, $3)
ON CONFLICT (person_id, role, node_id) DO NOTHING
