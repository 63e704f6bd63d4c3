SELECT at, person_id, person_name, action, subject, before, after, reason, request_id
FROM audit_log
WHERE subject = $1
ORDER BY id DESC
LIMIT $2
