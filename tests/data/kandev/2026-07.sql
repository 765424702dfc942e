-- The tables as in July 2026, with the first reports: an execution profile, and names of sessions.
CREATE TABLE tasks (
  id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL DEFAULT '', workflow_id TEXT NOT NULL DEFAULT '',
  workflow_step_id TEXT NOT NULL DEFAULT '', title TEXT NOT NULL, description TEXT DEFAULT '',
  state TEXT DEFAULT 'TODO', metadata TEXT DEFAULT '{}', archived_at TIMESTAMP,
  created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL, is_ephemeral INTEGER DEFAULT 0
);
CREATE TABLE agents (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, workspace_id TEXT DEFAULT NULL,
  supports_mcp INTEGER NOT NULL DEFAULT 0, mcp_config_path TEXT DEFAULT '',
  created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL, tui_config TEXT DEFAULT NULL
);
CREATE TABLE agent_profiles (
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, name TEXT NOT NULL, agent_display_name TEXT NOT NULL,
  model TEXT NOT NULL DEFAULT '', mode TEXT DEFAULT NULL, cli_flags TEXT DEFAULT NULL,
  env_vars TEXT NOT NULL DEFAULT '[]', settings TEXT NOT NULL DEFAULT '{}',
  created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL, deleted_at TIMESTAMP
);
CREATE TABLE task_sessions (
  id TEXT PRIMARY KEY, task_id TEXT NOT NULL, agent_profile_id TEXT,
  execution_profile_id TEXT NOT NULL DEFAULT '', executor_id TEXT DEFAULT '',
  agent_profile_snapshot TEXT DEFAULT '{}', executor_snapshot TEXT DEFAULT '{}',
  state TEXT NOT NULL DEFAULT 'CREATED', error_message TEXT DEFAULT '',
  metadata TEXT DEFAULT '{}', started_at TIMESTAMP NOT NULL, completed_at TIMESTAMP,
  updated_at TIMESTAMP NOT NULL, is_primary INTEGER DEFAULT 0, is_passthrough INTEGER DEFAULT 0,
  cost_subcents INTEGER NOT NULL DEFAULT 0, tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0, workspace_path TEXT DEFAULT '', name TEXT DEFAULT '',
  FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE
);
