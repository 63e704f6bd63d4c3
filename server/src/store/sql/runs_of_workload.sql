SELECT
    runs.id,
    runs.number,
    runs.hosts,
    runs.allocated,
    runs.decided_at,
    runs.assigned_at,
    runs.running_at,
    runs.protected_until,
    runs.charged_until,
    runs.stop_decided_at,
    runs.preemption,
    runs.ended_at,
    runs.cause,
    COALESCE((
        SELECT SUM(
            CASE charges.kind
                WHEN 'charge' THEN charges.amount_gpu_seconds
                WHEN 'refund' THEN -ABS(charges.amount_gpu_seconds)
                ELSE 0
            END
        )
        FROM charges
        WHERE charges.run_id = runs.id
    ), 0) AS charged
FROM runs
WHERE runs.workload_id = $1
ORDER BY runs.number
