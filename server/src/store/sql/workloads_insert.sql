INSERT INTO workloads (
    id, pool_id, external_id, name, charged_to, submitted_by, hosts, gpus_per_host, topology, min_runtime_s,
    after_preemption, priority, then_do, fallback, grace_s, simulated_runtime_s, submitted_at, state
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
