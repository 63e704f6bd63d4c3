SELECT role_grants.role, role_grants.node_id, nodes.name AS node_name
FROM role_grants
JOIN nodes ON nodes.id = role_grants.node_id
WHERE role_grants.person_id = $1
ORDER BY role_grants.role, role_grants.node_id
