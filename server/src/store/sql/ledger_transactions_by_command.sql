SELECT
    id, pool_id, period_id, kind, recorded_at, effective_at, person_id, person_name, reason, request_id, command_id
FROM ledger_transactions
WHERE command_id = $1
