SELECT id, kind, recorded_at, effective_at, person_id, person_name, reason, request_id, command_id
FROM ledger_transactions
WHERE pool_id = $1 AND period_id = $2
ORDER BY id
