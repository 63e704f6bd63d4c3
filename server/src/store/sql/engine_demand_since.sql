SELECT charged_to AS node_id, hosts * gpus_per_host AS gpus, submitted_at AS starts_at, ended_at
FROM workloads
WHERE pool_id = $1 AND min_runtime_s > 0 AND state <> 'held' AND (ended_at IS NULL OR ended_at > $2)
ORDER BY submitted_at, id
