SELECT id, name, active FROM people WHERE id = $1
