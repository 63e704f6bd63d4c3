SELECT id FROM ledger_transactions WHERE command_id = $1
