SELECT id, name FROM workloads WHERE id IN (SELECT value FROM json_each($1))
