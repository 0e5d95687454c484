"""The suite itself."""

import pytest

GROUP = "suite"


@pytest.mark.xdist_group(GROUP)
@pytest.mark.parametrize("name", ["plain", "with [brackets]"])
def test_tests_of_one_group_run_in_one_process(request, name):
    """The scheduler goes by the end of the id; without several processes there is nothing to see."""
    assert request.node.nodeid.endswith(f"@{GROUP}") == request.config.getoption("loadgroup", False)
