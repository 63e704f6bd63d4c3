SELECT outbox.id, outbox.action, outbox.body
FROM outbox
JOIN runs ON runs.id = outbox.run_id
JOIN workloads ON workloads.id = runs.workload_id
WHERE outbox.performed_at IS NULL AND workloads.pool_id = $1
ORDER BY outbox.id
