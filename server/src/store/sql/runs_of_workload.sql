-- Charged are the closed spans less refunds, and the open span up to the instant of asking, as in ledger_used.sql.
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
    ), 0)
    + CASE
        WHEN runs.ended_at IS NULL AND runs.allocated = 1 AND runs.assigned_at IS NOT NULL
            THEN workloads.hosts * workloads.gpus_per_host * MAX(
                0,
                CASE
                    WHEN workloads.then_do = 'unallocated' AND runs.running_at IS NOT NULL
                        THEN MIN($2, COALESCE(runs.protected_until, $2))
                    ELSE $2
                END - COALESCE(runs.charged_until, runs.assigned_at)
            )
        ELSE 0
    END AS charged
FROM runs
JOIN workloads ON workloads.id = runs.workload_id
WHERE runs.workload_id = $1
ORDER BY runs.number
