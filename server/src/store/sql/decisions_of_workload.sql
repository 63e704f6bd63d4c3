SELECT id, at, what, sentence
FROM decisions
WHERE workload_id = $1 AND id < $2
ORDER BY id DESC
LIMIT $3
