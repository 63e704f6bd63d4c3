INSERT INTO pools (id, reserve_bp, cap_s, startup_s, look_back, window_s, margin_milli)
VALUES ($1, $2, $3, $4, $5, $6, $7)
