SELECT COALESCE(MAX(id), 0) + 1 FROM ledger_transactions
