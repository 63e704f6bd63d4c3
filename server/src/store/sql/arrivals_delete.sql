DELETE FROM arrivals WHERE external_id = $1
