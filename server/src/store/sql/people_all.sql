SELECT id, name, active FROM people ORDER BY id
