"""What Alembic runs: the steps, on the connection that :mod:`kandev_nb.store.opening` gives it."""

from alembic import context

from kandev_nb.store.migrations import VERSIONS
from kandev_nb.store.tables import METADATA

# No transaction of Alembic's own: the connection is in one, which holds the lock of the migration.
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSIONS,
    transactional_ddl=True,
)
context.run_migrations()
