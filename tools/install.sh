#!/bin/sh
# Install the project, not editable, with locked dependencies into a new environment:
#
#   install.sh DIR REQUIREMENT     e.g. install.sh /opt/extremal ".[survey]"; run from the root of the repository
#
# DIR then needs neither the source nor a compiler. Used by the Containerfile.
set -eu

[ $# -eq 2 ] || {
    echo "usage: install.sh DIR REQUIREMENT" >&2
    exit 2
}
target=$1
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pip() {
    env -u PIP_CONSTRAINT -u PIP_BUILD_CONSTRAINT -u PYTHONPATH "$work/build/bin/python" -m pip \
        --disable-pip-version-check --quiet "$@"
}

# What builds the wheel stays out of DIR, and so does pip.
"$python" -m venv "$work/build"
"$python" -m venv --without-pip "$target"
"$python" tools/locked.py --group build >"$work/build.txt"
"$python" tools/locked.py "$2" >"$work/locked.txt"
pip install --require-hashes --only-binary :all: -r "$work/build.txt"
pip wheel --no-deps --no-build-isolation --wheel-dir "$work/wheels" .
pip --python "$target/bin/python" install --require-hashes --only-binary :all: -r "$work/locked.txt"
pip --python "$target/bin/python" install --no-index --no-deps --find-links "$work/wheels" extremal
pip --python "$target/bin/python" check
