SELECT
    id, pool_id, external_id, name, charged_to, submitted_by, hosts, gpus_per_host, topology, min_runtime_s,
    after_preemption, priority, then_do, fallback, grace_s, simulated_runtime_s, submitted_at, state, generation,
    starts, launch_failures, held_since, cancel_requested_at, cancel_requested_by, ended_at
FROM workloads
WHERE id = $1
