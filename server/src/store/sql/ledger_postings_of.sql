SELECT
    ledger_postings.transaction_id,
    ledger_postings.node_id,
    ledger_postings.amount_gpu_seconds
FROM ledger_postings
JOIN ledger_transactions ON ledger_transactions.id = ledger_postings.transaction_id
WHERE ledger_transactions.pool_id = $1 AND ledger_transactions.period_id = $2
ORDER BY ledger_postings.transaction_id, ledger_postings.seq
