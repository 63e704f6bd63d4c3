SELECT id, parent_id, kind, name, hue FROM nodes ORDER BY id
