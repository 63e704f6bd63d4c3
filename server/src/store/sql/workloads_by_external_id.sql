SELECT id FROM workloads WHERE external_id = $1
