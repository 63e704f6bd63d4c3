SELECT external_id, submit_at, spec FROM arrivals WHERE submit_at <= $1 ORDER BY submit_at, external_id LIMIT $2
