SELECT id, starts_at, ends_at, zone FROM periods WHERE id = $1
