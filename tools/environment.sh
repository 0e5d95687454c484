#!/bin/sh
# Virtual environments for the Makefile. Run from the root of the repository:
#
#   environment.sh create DIR REQUIREMENT...   make DIR hold what `pip install REQUIREMENT...` gives; a
#                                              requirement is -e ".[extra]", --group NAME or a package's name
#   environment.sh lacks                       print what this machine lacks: python, venv, compiler
#   environment.sh test-extra                  print the extra to test with: test, or test-wheels where
#                                              nothing can be compiled
#
# PYTHON names the interpreter; unset, the first of the candidates below that runs, is recent enough and
# has venv. Everything comes from constraints.txt with its hashes checked, what builds the packages included.
set -eu

candidates=${PYTHON:-python3.13 python3.12 python3.11 python3}

say() {
    printf '%s\n' "$*" >&2
}

# Prints the interpreter's own path: a shim may name nothing, and an active environment may be the one that
# is about to be replaced. Exit status 3: no Python 3.11; 4: there is one, but without venv.
find_python() {
    status=3
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        # shellcheck disable=SC2086 # a list of words
        set -- $candidates
    fi
    for candidate in "$@"; do
        code=0
        found=$("$candidate" -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(3)
try:
    import ensurepip, venv
except ImportError:
    sys.exit(4)
print(getattr(sys, "_base_executable", None) or sys.executable)
' 2>/dev/null) || code=$?
        if [ "$code" -eq 0 ]; then
            printf '%s\n' "$found"
            return 0
        elif [ "$code" -eq 4 ]; then
            status=4
        fi
    done
    return "$status"
}

require_python() {
    code=0
    python=$(find_python) || code=$?
    case $code in
        0) ;;
        4)
            say "error: this Python cannot make environments (no venv or ensurepip);" \
                "install them (Debian, Ubuntu: apt-get install python3-venv) or give another: make PYTHON=/path/to/python3"
            exit 1
            ;;
        *)
            say "error: Python 3.11 or newer is needed, none works among: $candidates;" \
                "install one, or give its path: make PYTHON=/path/to/python3"
            exit 1
            ;;
    esac
}

can_compile() {
    "$1" - >/dev/null 2>&1 <<'EOF'
import os, pathlib, shlex, subprocess, sys, sysconfig, tempfile

compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
paths = sysconfig.get_paths()
with tempfile.TemporaryDirectory() as folder:
    source = pathlib.Path(folder, "probe.c")
    source.write_text("#include <Python.h>\n")
    includes = [f"-I{paths['include']}", f"-I{paths['platinclude']}"]
    command = [*compiler, *includes, "-c", str(source), "-o", str(source.with_suffix(".o"))]
    sys.exit(subprocess.run(command).returncode)
EOF
}

create() {
    dir=$1
    shift
    require_python
    # What the environment depends on. The folder counts, because an editable install points to it.
    wanted=$(
        printf '%s\n' "$(pwd)" "$python" "$("$python" -V)" "$@"
        cat pyproject.toml constraints.txt hatch_build.py tools/build_native.py src/extremal/_native/*.[ch]
        grep -s '^__version__' src/extremal/__init__.py || :
    )
    wanted=$(printf '%s\n' "$wanted" | cksum)
    if [ "$(cat "$dir/ready" 2>/dev/null)" = "$wanted" ] && [ -x "$dir/bin/python" ]; then
        return 0
    fi

    # The old environment goes first and `ready` is written last: an interrupted run leaves nothing that
    # passes for complete.
    say "preparing $dir with $("$python" -V) (the first time takes a minute or two)"
    rm -rf "$dir"
    "$python" -m venv "$dir"
    # What builds packages comes first, and nothing is built in isolation: there pip would fetch it unchecked.
    case " $* " in
        *" -e "*)
            install_locked "$dir" build --only-binary :all: -- --group build
            install_locked "$dir" locked --no-build-isolation -- "$@"
            pip_install "$dir" --no-build-isolation --no-deps "$@"
            ;;
        *) install_locked "$dir" locked --only-binary :all: -- "$@" ;;
    esac
    printf '%s\n' "$wanted" >"$dir/ready"
}

# pip_install DIR ARGUMENT...
pip_install() {
    into=$1
    shift
    # Not the user's constraints: they would come on top of the lock. In a variable, because releases of pip
    # differ in the options they know: all build the same way.
    env -u PIP_CONSTRAINT -u PIP_BUILD_CONSTRAINT PIP_USE_PEP517=1 \
        "$into/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

# install_locked DIR NAME PIP-OPTION... -- REQUIREMENT...; the list that pip gets stays in DIR/NAME.txt.
install_locked() {
    target=$1
    list=$1/$2.txt
    shift 2
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    "$python" tools/locked.py "$@" >"$list"
    # shellcheck disable=SC2086 # a list of words
    pip_install "$target" --require-hashes $options -r "$list"
}

lacks() {
    code=0
    python=$(find_python) || code=$?
    case $code in
        0) can_compile "$python" || echo compiler ;;
        4) echo venv compiler ;;
        *) echo python venv compiler ;;
    esac
}

test_extra() {
    require_python
    if can_compile "$python"; then
        echo test
    else
        say "note: no C compiler with Python's headers (Debian, Ubuntu: apt-get install gcc libc6-dev python3-dev)," \
            "so pycddlib-standalone cannot be built and the tests that need it are skipped"
        echo test-wheels
    fi
}

case "${1:-}" in
    create)
        shift
        create "$@"
        ;;
    lacks)
        lacks
        ;;
    test-extra)
        test_extra
        ;;
    *)
        say "usage: environment.sh create DIR REQUIREMENT... | lacks | test-extra"
        exit 2
        ;;
esac
