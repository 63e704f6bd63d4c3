UPDATE workloads
SET cancel_requested_at = $2, cancel_requested_by = $3
WHERE id = $1 AND ended_at IS NULL AND cancel_requested_at IS NULL
