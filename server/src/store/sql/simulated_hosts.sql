SELECT id, state FROM hosts ORDER BY id
