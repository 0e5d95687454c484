#!/bin/sh
# Build the release into dist and check it, short of uploading. Run by `make release`, which prepares .venv-release
# and build/docs.
#
# The wheels, one for each platform, are built from the source archive, so that the archive is known to be complete. That
# of this machine is installed with the locked dependencies into an environment that holds nothing else. The bill of
# materials lists that environment.
set -eu

tools=.venv-release/bin/python
check=build/release-check

# In the environment that is checked there is no pip, and so none in the bill of materials.
pip() {
    env -u PIP_CONSTRAINT -u PIP_BUILD_CONSTRAINT -u PYTHONPATH "$tools" -m pip --disable-pip-version-check --quiet "$@"
}

# The scripts for web pages, as a package for npm; nothing is published.
npm_package() {
    "$tools" tools/npm_package.py build/npm
    npm pack --loglevel=error --pack-destination dist ./build/npm
}

rm -rf dist "$check"
"$tools" -m hatchling build --target sdist --directory dist
platforms=$("$tools" -c 'import sys; sys.path.insert(0, "tools"); import build_native; print(*build_native.WHEELS)')
for platform in $platforms; do
    EXTREMAL_PLATFORM=$platform pip wheel --no-deps --no-build-isolation --wheel-dir dist dist/extremal-*.tar.gz
done
"$tools" tools/wheels.py
version=$(cd dist && echo extremal-*.tar.gz | sed 's/extremal-\(.*\)\.tar\.gz/\1/')

"$tools" -m venv --without-pip "$check"
"$tools" tools/locked.py . >"$check/locked.txt"
pip --python "$check/bin/python" install --require-hashes --only-binary :all: -r "$check/locked.txt"
# By name, because pip writes down the path of a file that it is given.
pip --python "$check/bin/python" install --no-index --no-deps --find-links dist "extremal==$version"
pip --python "$check/bin/python" check

# -I: neither this folder nor the user's own packages are seen.
"$check/bin/python" -I -c '
import extremal as ex

prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
certified = ex.certify(prior, ex.design(prior, 0.6).mechanism, 0.6)
assert ex.Certified.from_json(certified.to_json()) == certified
assert len(certified.privatize(["never", "once", "often"] * 100)) == 300
'
said=$("$check/bin/extremal" --version)
case $said in
    *"$version"*) ;;
    *)
        echo "error: extremal --version says '$said', but the wheel is version $version" >&2
        exit 1
        ;;
esac

# The version is in the source, where the tool does not look for it.
sed "s/^dynamic = .*/version = \"$version\"/" pyproject.toml >"$check/pyproject.toml"
"$tools" -m cyclonedx_py environment --pyproject "$check/pyproject.toml" --mc-type library --output-reproducible \
    --output-format JSON --output-file "dist/extremal-$version.cdx.json" "$check/bin/python"
tar -C build/docs --exclude .doctrees --exclude .buildinfo -czf "dist/extremal-$version-docs.tar.gz" .
npm_package
(cd dist && sha256sum ./* >SHA256SUMS)
ls -l dist
