INSERT INTO ledger_postings (transaction_id, seq, node_id, amount_gpu_seconds) VALUES ($1, $2, $3, $4)
