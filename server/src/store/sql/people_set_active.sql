UPDATE people SET active = $2 WHERE id = $1
