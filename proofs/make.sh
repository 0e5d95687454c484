#!/bin/sh
# Check every proof, print what each theorem assumes, and compile the programs that are extracted from them.
#
# All that is made goes into the folder that $1 names, build/proofs if none; what is up to date there is not made again.
set -eu
source=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-$source/../build/proofs}"
cd "${1:-$source/../build/proofs}"
exec 9>lock
flock 9 # tests in several processes may all ask for this

coq() { coqc -w -notation-overridden,-ambiguous-paths -noglob -Q . Extremal "$@"; }

# In the order in which they build on one another: when one changes, those after it are checked again.
files="algebra promise sets compose optimum reports checker draw statements extract"
stale=
for file in $files; do
    if [ -z "$stale" ] && { ! cmp -s "$source/$file.v" "$file.v" || [ ! -f "$file.vo" ]; }; then
        stale=yes
        rm -f assumptions.txt trusted.txt check draw # nothing older stays if this is interrupted
        passed=
        for later in $files; do
            if [ "$later" = "$file" ]; then passed=yes; fi
            if [ -n "$passed" ]; then rm -f "$later.vo"; fi
        done
    fi
    if [ -n "$stale" ]; then
        cp "$source/$file.v" "$file.v"
        coq "$file.v" || { rm -f "$file.vo"; exit 1; }
    fi
done

# What was extracted, as programs: build/proofs/check FILE... and build/proofs/draw
for program in check:checker draw:drawer; do
    name=${program%:*} extracted=${program#*:}
    if ! cmp -s "$source/$name.ml" "$name.ml" || [ ! -x "$name" ]; then
        rm -f "$name"
        cp "$source/$name.ml" "$name.ml"
        ocamlopt -c "$extracted.mli"
        ocamlopt -w -a -c "$extracted.ml" # as it was extracted
        ocamlopt -w +a-4-9-40..42-44..45-66..70 -o "$name" "$extracted.cmx" "$name.ml"
    fi
done

# Whatever is called a theorem, a corollary, a proposition or a fact is asked what it assumes, and with it the lemmas that
# it uses. One that assumes anything is an error.
if [ ! -f assumptions.txt ]; then
    {
        for file in $files; do echo "From Extremal Require $file."; done
        for file in $files; do
            sed -nE "s/^ *(Local +|Global +)?(Theorem|Corollary|Proposition|Fact) +([A-Za-z0-9_']+).*/\\3/p" "$file.v" | while read -r name; do
                echo "Goal True. idtac \"$file.$name:\". Abort. Print Assumptions Extremal.$file.$name."
            done
        done
    } >assumptions.v
    coq assumptions.v >assumptions.out
    paste -d " " - - <assumptions.out >assumptions.part
    mv assumptions.part assumptions.txt
fi
# Coq's second checker reads the compiled proofs again, and lists what they take on trust: of the files here nothing may be
# among it, whether a theorem uses it or not.
if [ ! -f trusted.txt ]; then
    coqchk -silent -o $(for file in $files; do echo "-norec Extremal.$file"; done) -Q . Extremal \
        >trusted.part 2>&1 || { cat trusted.part >&2; exit 1; }
    mv trusted.part trusted.txt
fi
cat assumptions.txt
if grep 'Extremal\.' trusted.txt >&2; then exit 1; fi
if grep -v ': Closed under the global context$' assumptions.txt >&2; then exit 1; fi
