INSERT INTO audit_log (id, at, person_id, person_name, action, subject, before, after, reason, request_id)
SELECT COALESCE(MAX(id), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8, $9 FROM audit_log
