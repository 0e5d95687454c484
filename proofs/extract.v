(** * The programs, in OCaml

    Numbers stay those of Coq, digit by digit: no arithmetic is left to OCaml. *)

From Coq Require Import ZArith Extraction ExtrOcamlBasic.
From Extremal Require Import checker draw.

Extraction "checker.ml" check.
Extraction "drawer.ml" table stored report.
