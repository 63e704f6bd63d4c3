SELECT external_id, submit_at, spec FROM arrivals ORDER BY submit_at, external_id
