(** * The checker as an OCaml program

    Numbers stay those of Coq, digit by digit: no arithmetic is left to OCaml. *)

From Coq Require Import ZArith Extraction ExtrOcamlBasic.
From Extremal Require Import checker.

Extraction "checker.ml" check.
