-- The tables as in January 2026: before reports, before PostgreSQL, before sessions had names.
CREATE TABLE tasks (
  id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL DEFAULT '', board_id TEXT NOT NULL DEFAULT '',
  column_id TEXT NOT NULL DEFAULT '', title TEXT NOT NULL, description TEXT DEFAULT '',
  state TEXT DEFAULT 'TODO', metadata TEXT DEFAULT '{}',
  created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL
);
CREATE TABLE agents (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, supports_mcp INTEGER NOT NULL DEFAULT 0,
  created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL
);
CREATE TABLE agent_profiles (
  id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, name TEXT NOT NULL, model TEXT NOT NULL DEFAULT 'm',
  created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL
);
CREATE TABLE task_sessions (
  id TEXT PRIMARY KEY, task_id TEXT NOT NULL, agent_execution_id TEXT NOT NULL DEFAULT '',
  container_id TEXT NOT NULL DEFAULT '', agent_profile_id TEXT NOT NULL,
  agent_profile_snapshot TEXT DEFAULT '{}', state TEXT NOT NULL DEFAULT 'CREATED',
  error_message TEXT DEFAULT '', metadata TEXT DEFAULT '{}',
  started_at DATETIME NOT NULL, completed_at DATETIME, updated_at DATETIME NOT NULL
);
