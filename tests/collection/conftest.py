"""What tests of surveys share: one PostgreSQL in each process."""

import pytest

from tests.support import postgresql


@pytest.fixture(scope="session")
def postgres_cluster():
    """A running PostgreSQL."""
    pytest.importorskip("psycopg")
    if not postgresql.available():
        if postgresql.REQUIRED:
            pytest.fail("PostgreSQL is required here, but its programs are missing")
        pytest.skip("PostgreSQL is not installed")
    with postgresql.cluster() as made:
        yield made
