INSERT INTO ledger_transactions (
    id, pool_id, period_id, kind, recorded_at, effective_at, person_id, person_name, reason, request_id, command_id
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
