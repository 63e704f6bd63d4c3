SELECT COALESCE(MAX(id), 0) + 1 FROM workloads
