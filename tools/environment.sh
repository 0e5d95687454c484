#!/bin/sh
# Virtual environments for the Makefile. Run from the root of the repository:
#
#   environment.sh create DIR REQUIREMENT...   make DIR hold what `pip install REQUIREMENT...` gives; a
#                                              requirement is -e ".[extra]", --group NAME or a package's name
#   environment.sh lacks                       print what this machine lacks: python, venv
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

# Waits until no other process prepares the same environment. This shell holds the lock until it ends, because
# Python locks what the shell has open.
lock() {
    { : >>"$1"; } 2>/dev/null || return 0 # a folder that cannot be written: nothing will be prepared there either
    exec 9>>"$1"
    "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'
}

create() {
    dir=$1
    shift
    require_python
    lock "$dir.lock"
    # What the environment depends on. The folder counts, because an editable install points to it.
    wanted=$(
        printf '%s\n' "$(pwd)" "$python" "$("$python" -V)" "$@"
        cat pyproject.toml constraints.txt
        grep -s '^__version__' src/extremal/__init__.py || :
    )
    wanted=$(printf '%s\n' "$wanted" | cksum)
    if [ "$(cat "$dir/ready" 2>/dev/null)" != "$wanted" ] || [ ! -x "$dir/bin/python" ]; then
        install "$dir" "$@"
        printf '%s\n' "$wanted" >"$dir/ready"
    fi
    # An editable install uses the library in the source tree: it must fit the C sources as they are now.
    case " $* " in
        *" -e "*) "$dir/bin/python" tools/build_native.py --if-stale ;;
    esac
}

install() {
    dir=$1
    shift
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
}

# pip_install DIR ARGUMENT...
pip_install() {
    into=$1
    shift
    # Not the user's constraints: they would come on top of the lock. In a variable, because releases of pip
    # differ in the options they know: all build the same way.
    env -u PIP_CONSTRAINT -u PIP_BUILD_CONSTRAINT PIP_USE_PEP517=1 \
        "$into/bin/python" -m pip install -qq --disable-pip-version-check "$@" # errors are still shown
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
        0) ;;
        4) echo venv ;;
        *) echo python venv ;;
    esac
}

case "${1:-}" in
    create)
        shift
        create "$@"
        ;;
    lacks)
        lacks
        ;;
    *)
        say "usage: environment.sh create DIR REQUIREMENT... | lacks"
        exit 2
        ;;
esac
