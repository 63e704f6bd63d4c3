INSERT INTO runs (
    id, workload_id, number, generation, hosts, allocated, waits_for, decided_at, assigned_at, running_at,
    protected_until, charged_until, stop_decided_at, stop_by, stop_cause, preemption, ended_at, cause
)
VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
ON CONFLICT (id) DO UPDATE SET
    allocated = excluded.allocated,
    waits_for = excluded.waits_for,
    assigned_at = excluded.assigned_at,
    running_at = excluded.running_at,
    protected_until = excluded.protected_until,
    charged_until = excluded.charged_until,
    stop_decided_at = excluded.stop_decided_at,
    stop_by = excluded.stop_by,
    stop_cause = excluded.stop_cause,
    preemption = COALESCE(excluded.preemption, runs.preemption),
    ended_at = excluded.ended_at,
    cause = excluded.cause
WHERE runs.ended_at IS NULL
