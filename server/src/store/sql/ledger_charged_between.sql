-- The part of every charged span that lies between two instants, and the refunds made between them.
SELECT
    node_id,
    SUM(charged) AS charged
FROM (
    SELECT
        charges.node_id,
        CASE charges.kind
            WHEN 'charge' THEN charges.gpus * (MIN(charges.ends_at, $3) - MAX(charges.starts_at, $2))
            WHEN 'refund' THEN -ABS(charges.amount_gpu_seconds)
            ELSE 0
        END AS charged
    FROM charges
    WHERE charges.pool_id = $1 AND charges.ends_at > $2 AND charges.starts_at < $3
    UNION ALL
    SELECT
        workloads.charged_to AS node_id,
        workloads.hosts * workloads.gpus_per_host * MAX(
            0,
            MIN(
                $3,
                CASE
                    WHEN workloads.then_do = 'unallocated' AND runs.running_at IS NOT NULL
                        THEN COALESCE(runs.protected_until, $3)
                    ELSE $3
                END
            ) - MAX($2, COALESCE(runs.charged_until, runs.assigned_at))
        ) AS charged
    FROM runs
    JOIN workloads ON workloads.id = runs.workload_id
    WHERE runs.ended_at IS NULL
        AND runs.allocated = 1
        AND runs.assigned_at IS NOT NULL
        AND workloads.pool_id = $1
) AS spans
GROUP BY node_id
ORDER BY node_id
