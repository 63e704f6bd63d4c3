-- Portable types: ids TEXT or BIGINT, amounts and times BIGINT (GPU-seconds, seconds since 1970 UTC),
-- enums TEXT with CHECK, JSON TEXT. Every constraint has a name; each maps to a problem code.

CREATE TABLE settings (
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    CONSTRAINT settings_pk PRIMARY KEY (key)
);

CREATE TABLE nodes (
    id TEXT NOT NULL,
    parent_id TEXT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    hue BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT nodes_pk PRIMARY KEY (id),
    CONSTRAINT nodes_parent_exists FOREIGN KEY (parent_id) REFERENCES nodes (id),
    CONSTRAINT nodes_kind_known CHECK (kind IN ('organisation', 'program', 'project', 'team', 'person')),
    CONSTRAINT nodes_hue_range CHECK (hue BETWEEN 0 AND 10)
);

CREATE TABLE people (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    active BIGINT NOT NULL DEFAULT 1,
    CONSTRAINT people_pk PRIMARY KEY (id),
    CONSTRAINT people_active_flag CHECK (active IN (0, 1))
);

CREATE TABLE role_grants (
    person_id TEXT NOT NULL,
    role TEXT NOT NULL,
    node_id TEXT NOT NULL,
    CONSTRAINT role_grants_pk PRIMARY KEY (person_id, role, node_id),
    CONSTRAINT role_grants_person_exists FOREIGN KEY (person_id) REFERENCES people (id),
    CONSTRAINT role_grants_node_exists FOREIGN KEY (node_id) REFERENCES nodes (id),
    CONSTRAINT role_grants_role_known CHECK (
        role IN ('viewer', 'researcher', 'manager', 'on_call', 'auditor', 'service', 'platform_admin')
    )
);

CREATE TABLE pools (
    id TEXT NOT NULL,
    reserve_bp BIGINT NOT NULL,
    cap_s BIGINT NOT NULL,
    startup_s BIGINT NOT NULL,
    look_back TEXT NOT NULL,
    window_s BIGINT NOT NULL,
    margin_milli BIGINT NOT NULL,
    CONSTRAINT pools_pk PRIMARY KEY (id),
    CONSTRAINT pools_reserve_range CHECK (reserve_bp BETWEEN 0 AND 10000),
    CONSTRAINT pools_cap_range CHECK (cap_s >= 300),
    CONSTRAINT pools_look_back_known CHECK (look_back IN ('sliding', 'fade')),
    CONSTRAINT pools_window_range CHECK (window_s > 0)
);

CREATE TABLE hosts (
    id TEXT NOT NULL,
    pool_id TEXT NOT NULL,
    block_id TEXT NOT NULL,
    gpus BIGINT NOT NULL,
    state TEXT NOT NULL,
    CONSTRAINT hosts_pk PRIMARY KEY (id),
    CONSTRAINT hosts_pool_exists FOREIGN KEY (pool_id) REFERENCES pools (id),
    CONSTRAINT hosts_gpus_range CHECK (gpus BETWEEN 1 AND 64),
    CONSTRAINT hosts_state_known CHECK (state IN ('up', 'draining', 'down', 'unknown'))
);

CREATE TABLE periods (
    id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    zone TEXT NOT NULL,
    CONSTRAINT periods_pk PRIMARY KEY (id),
    CONSTRAINT periods_order CHECK (starts_at < ends_at)
);

CREATE TABLE ledger_transactions (
    id BIGINT NOT NULL,
    pool_id TEXT NOT NULL,
    period_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    recorded_at BIGINT NOT NULL,
    effective_at BIGINT NOT NULL,
    person_id TEXT NOT NULL,
    person_name TEXT NOT NULL,
    reason TEXT NOT NULL,
    request_id TEXT,
    command_id TEXT NOT NULL,
    CONSTRAINT ledger_transactions_pk PRIMARY KEY (id),
    CONSTRAINT ledger_transactions_pool_exists FOREIGN KEY (pool_id) REFERENCES pools (id),
    CONSTRAINT ledger_transactions_period_exists FOREIGN KEY (period_id) REFERENCES periods (id),
    CONSTRAINT ledger_transactions_kind_known CHECK (kind IN ('import', 'set', 'move', 'reversal')),
    CONSTRAINT ledger_transactions_command_unique UNIQUE (command_id)
);

-- A posting without a node is one against the pool's capacity.
CREATE TABLE ledger_postings (
    transaction_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    node_id TEXT,
    amount_gpu_seconds BIGINT NOT NULL,
    CONSTRAINT ledger_postings_pk PRIMARY KEY (transaction_id, seq),
    CONSTRAINT ledger_postings_transaction_exists FOREIGN KEY (transaction_id) REFERENCES ledger_transactions (id),
    CONSTRAINT ledger_postings_node_exists FOREIGN KEY (node_id) REFERENCES nodes (id)
);

CREATE TRIGGER ledger_transactions_no_update BEFORE UPDATE ON ledger_transactions
BEGIN SELECT RAISE(ABORT, 'ledger_transactions_append_only'); END;
CREATE TRIGGER ledger_transactions_no_delete BEFORE DELETE ON ledger_transactions
BEGIN SELECT RAISE(ABORT, 'ledger_transactions_append_only'); END;
CREATE TRIGGER ledger_postings_no_update BEFORE UPDATE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'ledger_postings_append_only'); END;
CREATE TRIGGER ledger_postings_no_delete BEFORE DELETE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'ledger_postings_append_only'); END;

-- The own part of each node, as replaying the ledger gives it; `stint audit` compares the two.
CREATE TABLE balances (
    node_id TEXT NOT NULL,
    pool_id TEXT NOT NULL,
    period_id TEXT NOT NULL,
    own_gpu_seconds BIGINT NOT NULL,
    accrued_gpu_seconds BIGINT NOT NULL,
    accrued_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT balances_pk PRIMARY KEY (pool_id, period_id, node_id),
    CONSTRAINT balances_node_exists FOREIGN KEY (node_id) REFERENCES nodes (id),
    CONSTRAINT balances_own_not_negative CHECK (own_gpu_seconds >= 0),
    CONSTRAINT balances_accrued_range CHECK (accrued_gpu_seconds BETWEEN 0 AND own_gpu_seconds)
);

CREATE TABLE workloads (
    id BIGINT NOT NULL,
    pool_id TEXT NOT NULL,
    external_id TEXT,
    name TEXT NOT NULL,
    charged_to TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    hosts BIGINT NOT NULL,
    gpus_per_host BIGINT NOT NULL,
    topology TEXT NOT NULL,
    min_runtime_s BIGINT NOT NULL,
    after_preemption TEXT NOT NULL,
    priority BIGINT NOT NULL,
    then_do TEXT NOT NULL,
    fallback TEXT NOT NULL,
    grace_s BIGINT NOT NULL,
    simulated_runtime_s BIGINT,
    submitted_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    generation BIGINT NOT NULL DEFAULT 0,
    starts BIGINT NOT NULL DEFAULT 0,
    launch_failures BIGINT NOT NULL DEFAULT 0,
    held_since BIGINT,
    cancel_requested_at BIGINT,
    cancel_requested_by TEXT,
    ended_at BIGINT,
    CONSTRAINT workloads_pk PRIMARY KEY (id),
    CONSTRAINT workloads_external_id_unique UNIQUE (external_id),
    CONSTRAINT workloads_pool_exists FOREIGN KEY (pool_id) REFERENCES pools (id),
    CONSTRAINT workloads_node_exists FOREIGN KEY (charged_to) REFERENCES nodes (id),
    CONSTRAINT workloads_person_exists FOREIGN KEY (submitted_by) REFERENCES people (id),
    CONSTRAINT workloads_topology_known CHECK (topology IN ('anywhere', 'same_block')),
    CONSTRAINT workloads_after_preemption_known CHECK (after_preemption IN ('requeue', 'end')),
    CONSTRAINT workloads_then_known CHECK (then_do IN ('charged', 'unallocated', 'stop')),
    CONSTRAINT workloads_fallback_known CHECK (fallback IN ('unallocated', 'wait')),
    CONSTRAINT workloads_state_known CHECK (
        state IN (
            'queued', 'held', 'starting', 'protected', 'interruptible', 'unallocated', 'stopping',
            'finished', 'failed', 'cancelled', 'ended'
        )
    )
);
CREATE INDEX workloads_by_state ON workloads (state, id);
CREATE INDEX workloads_by_person ON workloads (submitted_by, id);
CREATE INDEX workloads_by_node ON workloads (charged_to, id);

CREATE TABLE runs (
    id BIGINT NOT NULL,
    workload_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    hosts TEXT NOT NULL,
    allocated BIGINT NOT NULL,
    waits_for TEXT NOT NULL,
    decided_at BIGINT NOT NULL,
    assigned_at BIGINT,
    running_at BIGINT,
    protected_until BIGINT,
    charged_until BIGINT,
    stop_decided_at BIGINT,
    stop_by BIGINT,
    stop_cause TEXT,
    preemption TEXT,
    ended_at BIGINT,
    cause TEXT,
    CONSTRAINT runs_pk PRIMARY KEY (id),
    CONSTRAINT runs_workload_exists FOREIGN KEY (workload_id) REFERENCES workloads (id),
    CONSTRAINT runs_number_unique UNIQUE (workload_id, number),
    CONSTRAINT runs_allocated_flag CHECK (allocated IN (0, 1)),
    CONSTRAINT runs_cause_known CHECK (
        cause IN ('finished', 'failed', 'preempted', 'cancelled', 'host_failed', 'launch_failed', 'expired')
    )
);
CREATE INDEX runs_open ON runs (ended_at, id);

-- Closed spans of held GPUs: kind 'charge' counts against the node, 'unallocated' does not, 'refund' reverses.
CREATE TABLE charges (
    run_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    node_id TEXT NOT NULL,
    pool_id TEXT NOT NULL,
    period_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    gpus BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    amount_gpu_seconds BIGINT NOT NULL,
    CONSTRAINT charges_pk PRIMARY KEY (run_id, seq),
    CONSTRAINT charges_run_exists FOREIGN KEY (run_id) REFERENCES runs (id),
    CONSTRAINT charges_node_exists FOREIGN KEY (node_id) REFERENCES nodes (id),
    CONSTRAINT charges_kind_known CHECK (kind IN ('charge', 'unallocated', 'refund')),
    CONSTRAINT charges_order CHECK (starts_at <= ends_at)
);
CREATE INDEX charges_by_node ON charges (pool_id, period_id, node_id);
CREATE INDEX charges_by_end ON charges (pool_id, ends_at);

CREATE TABLE decisions (
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    workload_id BIGINT NOT NULL,
    run_id BIGINT,
    what TEXT NOT NULL,
    sentence TEXT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT decisions_pk PRIMARY KEY (id),
    CONSTRAINT decisions_workload_exists FOREIGN KEY (workload_id) REFERENCES workloads (id)
);
CREATE INDEX decisions_by_workload ON decisions (workload_id, id);

-- Fleet actions that were decided in the same transaction; repeating one changes nothing.
CREATE TABLE outbox (
    id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    action TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    performed_at BIGINT,
    CONSTRAINT outbox_pk PRIMARY KEY (id),
    CONSTRAINT outbox_run_exists FOREIGN KEY (run_id) REFERENCES runs (id),
    CONSTRAINT outbox_action_known CHECK (action IN ('start', 'stop')),
    CONSTRAINT outbox_once UNIQUE (run_id, action)
);
CREATE INDEX outbox_open ON outbox (performed_at, id);

-- The simulated fleet's own memory: a real one also outlives the server.
CREATE TABLE simulated_runs (
    run_id BIGINT NOT NULL,
    workload_id BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    hosts TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    stop_at BIGINT,
    ended_at BIGINT,
    cause TEXT,
    seen BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT simulated_runs_pk PRIMARY KEY (run_id),
    CONSTRAINT simulated_runs_seen_flag CHECK (seen IN (0, 1))
);
CREATE INDEX simulated_runs_by_seen ON simulated_runs (seen, run_id);
CREATE INDEX simulated_runs_by_workload ON simulated_runs (workload_id);

-- Recorded demand that the replay submits when the clock gets there.
CREATE TABLE arrivals (
    external_id TEXT NOT NULL,
    submit_at BIGINT NOT NULL,
    spec TEXT NOT NULL,
    CONSTRAINT arrivals_pk PRIMARY KEY (external_id)
);
CREATE INDEX arrivals_by_time ON arrivals (submit_at, external_id);

CREATE TABLE idempotency_keys (
    person_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    status BIGINT,
    response TEXT,
    created_at BIGINT NOT NULL,
    CONSTRAINT idempotency_keys_pk PRIMARY KEY (person_id, idempotency_key)
);

CREATE TABLE audit_log (
    id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    person_id TEXT NOT NULL,
    person_name TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    before TEXT,
    after TEXT,
    reason TEXT,
    request_id TEXT,
    CONSTRAINT audit_log_pk PRIMARY KEY (id)
);

CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit_log_append_only'); END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit_log_append_only'); END;

CREATE TABLE sessions (
    id_hash TEXT NOT NULL,
    record TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT sessions_pk PRIMARY KEY (id_hash)
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
