SELECT MIN(submit_at) FROM arrivals
