-- Closed spans by the period they were cut into, and the open span of each charged run up to the instant of asking.
-- A run that goes on free after its protection is charged up to there. Held is what protection may still cost:
-- from a start that isn't running yet with its start-up allowance, else up to the end of protection.
SELECT
    node_id,
    SUM(charged) AS charged,
    SUM(held) AS held
FROM (
    SELECT
        charges.node_id,
        CASE charges.kind
            WHEN 'charge' THEN charges.amount_gpu_seconds
            WHEN 'refund' THEN -ABS(charges.amount_gpu_seconds)
            ELSE 0
        END AS charged,
        0 AS held
    FROM charges
    WHERE charges.pool_id = $1 AND charges.period_id = $2
    UNION ALL
    SELECT
        workloads.charged_to AS node_id,
        workloads.hosts * workloads.gpus_per_host * MAX(
            0,
            MIN(
                $5,
                $4,
                CASE
                    WHEN workloads.then_do = 'unallocated' AND runs.running_at IS NOT NULL
                        THEN COALESCE(runs.protected_until, $5)
                    ELSE $5
                END
            ) - MAX($3, COALESCE(runs.charged_until, runs.assigned_at))
        ) AS charged,
        workloads.hosts * workloads.gpus_per_host * MAX(
            0,
            CASE
                WHEN $5 < $3 OR $5 >= $4 THEN 0
                WHEN runs.running_at IS NULL
                    THEN runs.assigned_at + pools.startup_s + workloads.min_runtime_s - $5
                ELSE COALESCE(runs.protected_until, $5) - $5
            END
        ) AS held
    FROM runs
    JOIN workloads ON workloads.id = runs.workload_id
    JOIN pools ON pools.id = workloads.pool_id
    WHERE runs.ended_at IS NULL
        AND runs.allocated = 1
        AND runs.assigned_at IS NOT NULL
        AND workloads.pool_id = $1
) AS spans
GROUP BY node_id
ORDER BY node_id
