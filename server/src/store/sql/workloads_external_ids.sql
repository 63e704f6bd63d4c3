SELECT external_id FROM workloads WHERE external_id IS NOT NULL
