SELECT id, starts_at, ends_at, zone FROM periods ORDER BY starts_at DESC, id
