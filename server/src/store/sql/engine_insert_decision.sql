INSERT INTO decisions (id, at, workload_id, run_id, what, sentence, body)
SELECT COALESCE(MAX(id), 0) + 1, $1, $2, $3, $4, $5, $6 FROM decisions
