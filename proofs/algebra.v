(** * Equations in an ordered field, by the standard library's tactics [ring] and [field]

    Nothing here is about privacy. In a section with [Variable R : realFieldType], say [Add Field f : (field_facts R)];
    then [rings] proves equations in R, and [fields] those with divisions, up to what must not be 0. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Coq Require Export Ring Field.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Field.
Variable R : realFieldType.
Definition rsort : Type := R.
Definition rzero : rsort := 0.
Definition rone : rsort := 1.
Definition radd (x y : rsort) : rsort := x + y.
Definition rmul (x y : rsort) : rsort := x * y.
Definition ropp (x : rsort) : rsort := - x.
Definition rinv (x : rsort) : rsort := x^-1.

Lemma field_facts :
  field_theory rzero rone radd rmul (fun x y => radd x (ropp y)) ropp (fun x y => rmul x (rinv y)) rinv eq.
Proof.
rewrite /rzero /rone /radd /rmul /ropp /rinv; split=> //.
- split=> *; rewrite ?add0r ?mul1r ?mulrDl ?mulrA ?addrA ?subrr //; [exact: addrC | exact: mulrC].
- by apply/eqP; rewrite oner_eq0.
- by move=> x /eqP x0; rewrite mulVf.
Qed.
End Field.

Ltac to_rsort R :=
  match goal with |- @eq _ ?a ?b => change (@eq (rsort R) a b) end;
  repeat match goal with
  | |- context [@GRing.add _ ?x ?y] => change (@GRing.add _ x y) with (@radd R x y)
  | |- context [@GRing.mul _ ?x ?y] => change (@GRing.mul _ x y) with (@rmul R x y)
  | |- context [@GRing.opp _ ?x] => change (@GRing.opp _ x) with (@ropp R x)
  | |- context [@GRing.inv _ ?x] => change (@GRing.inv _ x) with (@rinv R x)
  | |- context [GRing.zero _] => change (GRing.zero _) with (rzero R)
  | |- context [GRing.one _] => change (GRing.one _) with (rone R)
  end.
Ltac rings R := to_rsort R; ring.
Ltac fields R := to_rsort R; field.
