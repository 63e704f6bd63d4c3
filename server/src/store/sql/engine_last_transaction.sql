SELECT COALESCE(MAX(id), 0) FROM ledger_transactions WHERE pool_id = $1
