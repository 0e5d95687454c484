(** * What stays true when reports are processed, mixed, repeated, or asked for adaptively *)

From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Extremal Require Import algebra promise sets.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Processing.
Variable R : realFieldType.
Variables X Y Z : finType.
Implicit Types (pi : X -> R) (P : X -> Y -> R).

(** ** Post-processing: what is made of a report, at random or not, leaks no more than the report *)
Definition processed P (W : Y -> Z -> R) x z := \sum_y P x y * W y z.

Lemma processed_kernel P W : kernel P -> kernel W -> kernel (processed P W).
Proof.
move=> kP kW x; have [P0 P1] := kP x; split=> [z |].
  by apply: sumr_ge0 => y _; rewrite mulr_ge0 //; have [] := kW y.
rewrite exchange_big /= -[RHS]P1; apply: eq_bigr => y _.
by have [_ W1] := kW y; rewrite -mulr_sumr W1 mulr1.
Qed.

(** Only reports that can become z count. *)
Theorem post_processing c pi P (W : Y -> Z -> R) z :
  (forall y, 0 <= W y z) -> (forall y, 0 < W y z -> keeps c pi P y) -> keeps c pi (processed P W) z.
Proof.
move=> W0 k x px.
have -> : mass pi (processed P W) z = \sum_y mass pi P y * W y z.
  rewrite /mass /processed; under eq_bigr do rewrite mulr_sumr; rewrite exchange_big.
  by apply: eq_bigr => y _; rewrite mulr_suml; apply: eq_bigr => x' _; rewrite mulrA.
rewrite mulr_sumr; apply: ler_sum => y _; rewrite mulrA.
have := W0 y; rewrite le_eqVlt => /predU1P [<- | w0]; first by rewrite !mulr0.
by apply: ler_wpmul2r; [exact: ltW | apply: k].
Qed.

(** ** Mixtures: a mechanism that is chosen at random, whether or not the choice is shown *)
Variable I : finType.
Definition mixed (t : I -> R) (P : I -> X -> Y -> R) x y := \sum_i t i * P i x y.
Definition shown (t : I -> R) (P : I -> X -> Y -> R) x (iy : I * Y) := t iy.1 * P iy.1 x iy.2.

Theorem mixture c pi (t : I -> R) (P : I -> X -> Y -> R) y :
  (forall i, 0 <= t i) -> (forall i, keeps c pi (P i) y) -> keeps c pi (mixed t P) y.
Proof.
move=> t0 k x px.
have -> : mass pi (mixed t P) y = \sum_i t i * mass pi (P i) y.
  rewrite /mass /mixed; under eq_bigr do rewrite mulr_sumr; rewrite exchange_big.
  by apply: eq_bigr => i _; rewrite mulr_sumr; apply: eq_bigr => x' _; rewrite mulrCA.
rewrite mulr_sumr; apply: ler_sum => i _; rewrite mulrCA; apply: (ler_wpmul2l (t0 i)); exact: k.
Qed.

Theorem mixture_shown c pi (t : I -> R) (P : I -> X -> Y -> R) i y :
  0 <= t i -> keeps c pi (P i) y -> keeps c pi (shown t P) (i, y).
Proof.
move=> t0 k x px; rewrite /shown /=.
have -> : mass pi (shown t P) (i, y) = t i * mass pi (P i) y.
  by rewrite /mass mulr_sumr; apply: eq_bigr => x' _; rewrite mulrCA.
by rewrite mulrCA; apply: ler_wpmul2l => //; apply: k.
Qed.
End Processing.

(** ** Two independent reports of one person *)
Section Two.
Variable R : realFieldType.
Variables X Y Z : finType.
Variables (pi : X -> R) (P : X -> Y -> R) (Q : X -> Z -> R).
Hypothesis prior : distribution pi.
Hypotheses (P0 : forall x y, 0 <= P x y) (Q0 : forall x z, 0 <= Q x z).
Add Field field : (field_facts R).

Definition joint x (yz : Y * Z) := P x yz.1 * Q x yz.2.

Lemma joint_kernel : kernel P -> kernel Q -> kernel joint.
Proof.
move=> kP kQ x; split=> [yz |]; first by rewrite mulr_ge0.
rewrite -(pair_bigA _ (fun y z => P x y * Q x z)) /=; have [_ P1] := kP x; have [_ Q1] := kQ x.
by rewrite -[RHS]P1; apply: eq_bigr => y _; rewrite -mulr_sumr Q1 mulr1.
Qed.

(** After the first report the prior is the posterior, for what follows. *)
Lemma joint_mass y z : 0 < mass pi P y -> mass pi joint (y, z) = mass pi P y * mass (posterior pi P y) Q z.
Proof.
move=> m0; rewrite /mass mulr_sumr; apply: eq_bigr => x _; rewrite /posterior -/(mass pi P y) /joint /=.
by move: m0; set m := mass pi P y => /lt0r_neq0 /eqP m0; fields R.
Qed.

Theorem joint_posterior y z x : 0 < mass pi P y ->
  posterior pi joint (y, z) x = posterior (posterior pi P y) Q z x.
Proof.
move=> m0; rewrite {1}/posterior joint_mass // /joint /= invfM {2}/posterior {2}/posterior.
by rewrite !mulrA; congr (_ / _); rewrite mulrAC.
Qed.

(** What the library computes for a pair: the columns may be scaled, which changes no lift. *)
Lemma lift_scaled (T T' : finType) (w : X -> T -> R) (w' : X -> T' -> R) t t' a : a != 0 ->
  (forall x, w' x t' = a * w x t) -> lift pi w' t' = lift pi w t.
Proof.
move=> a0 e; apply: eq_best => x; have -> : mass pi w' t' = a * mass pi w t.
  by rewrite /mass mulr_sumr; apply: eq_bigr => x' _; rewrite e mulrCA.
by rewrite e invfM mulrACA divff // mul1r.
Qed.

Theorem composition_computes y z a b : 0 < a -> 0 < b ->
  lift pi (fun x (_ : unit) => (P x y / a) * (Q x z / b)) tt = lift pi joint (y, z).
Proof.
move=> a0 b0; have ab : a^-1 * b^-1 != 0 by rewrite mulf_neq0 ?invr_neq0 ?gt_eqF.
by apply: (lift_scaled ab) => x; rewrite /joint /= mulrACA mulrC.
Qed.

(** So both reports together leak at most the largest of these numbers over all pairs that occur. *)
Theorem two_reports c (U : finType) (g : X -> U -> R) y z :
  (forall y z, 0 < mass pi joint (y, z) -> lift pi joint (y, z) <= c) ->
  0 < mass pi joint (y, z) -> (forall x u, 0 <= g x u) ->
  best (expected (posterior pi joint (y, z)) g) <= c * best (expected pi g).
Proof.
move=> le m0 g0; have J0 x yz : 0 <= joint x yz by rewrite mulr_ge0.
by apply: promise => //; apply/(keeps_lift prior J0 c m0)/le.
Qed.

(** The second report may be bounded under the posterior after the first, ... *)
Theorem chain c d y z : 0 < mass pi P y -> 0 <= c -> keeps c pi P y -> keeps d (posterior pi P y) Q z ->
  keeps (c * d) pi joint (y, z).
Proof.
move=> m0 c0 kP kQ x px; rewrite joint_mass // mulrACA /joint /=.
have := P0 x y; rewrite le_eqVlt => /predU1P [<- | Pxy].
  rewrite mul0r mulr_ge0 //; first by rewrite mulr_ge0 // ltW.
  have q : distribution (posterior pi P y) := posterior_distribution prior P0 m0.
  have [x' qx'] := some_answer q; have := kQ x' qx'; exact: le_trans.
have qx : 0 < posterior pi P y x by rewrite divr_gt0 // mulr_gt0.
exact: ler_pmul (ltW Pxy) (Q0 x z) (kP x px) (kQ x qx).
Qed.

(** ... or by local differential privacy, whatever is known. *)
Theorem added_with_ldp c d y z : keeps c pi P y -> 0 <= c -> (forall x x', Q x z <= d * Q x' z) -> 0 <= d ->
  keeps (c * d) pi joint (y, z).
Proof.
move=> kP c0 ldp d0 x px; rewrite /joint /=.
apply: le_trans (ler_wpmul2r (Q0 x z) (kP x px)) _.
rewrite /mass -!mulrA; apply: (ler_wpmul2l c0); rewrite mulr_suml mulr_sumr; apply: ler_sum => x' _.
have [p0 _] := prior; rewrite /= -!mulrA [d * _]mulrCA; apply: (ler_wpmul2l (p0 x')).
by rewrite [d * _]mulrCA; apply: ler_wpmul2l.
Qed.
End Two.

(** ** Any number of independent reports of one person: [f i] is report i, from the mechanism [P i] *)
Section Several.
Variable R : realFieldType.
Variables I X Y : finType.
Variables (pi : X -> R) (P : I -> X -> Y -> R).
Hypothesis prior : distribution pi.
Hypothesis kernels : forall i, kernel (P i).

Definition together x (f : {ffun I -> Y}) := \prod_i P i x (f i).

Theorem together_kernel : kernel together.
Proof.
move=> x; split=> [f |]; first by apply: prodr_ge0 => i _; case: (kernels i x).
by rewrite -(bigA_distr_bigA (fun i y => P i x y)) big1 // => i _; case: (kernels i x).
Qed.

Theorem several_reports c (U : finType) (g : X -> U -> R) f :
  (forall f, 0 < mass pi together f -> lift pi together f <= c) ->
  0 < mass pi together f -> (forall x u, 0 <= g x u) ->
  best (expected (posterior pi together f) g) <= c * best (expected pi g).
Proof.
move=> le m0 g0; have T0 x f' : 0 <= together x f' by case: (together_kernel x).
by apply: promise => //; apply/(keeps_lift prior T0 c m0)/le.
Qed.
End Several.

(** ** Levels must not be added: two examples *)
Section Sums.
Variable R : realFieldType.
Definition uniform4 (x : 'I_4) : R := 4%:R^-1.

Lemma sum4 (f : 'I_4 -> R) : \sum_x f x = f (inord 0) + f (inord 1) + f (inord 2) + f (inord 3).
Proof.
rewrite !big_ord_recl big_ord0 addr0 !addrA.
by do ![congr (_ + _)]; congr f; apply: val_inj; rewrite /= inordK.
Qed.

Lemma uniform4_distribution : distribution uniform4.
Proof.
split=> [x |]; first by rewrite invr_ge0 ler0n.
by rewrite /uniform4 sumr_const card_ord -(mulr_natl (4%:R^-1)) mulfV // pnatr_eq0.
Qed.

Lemma lift_is (T : finType) (w : 'I_4 -> T -> R) c t x : (forall x t, 0 <= w x t) -> 0 < mass uniform4 w t ->
  w x t = c * mass uniform4 w t -> (forall x, w x t <= c * mass uniform4 w t) -> lift uniform4 w t = c.
Proof.
move=> w0 m0 e k; have u0 : 0 < uniform4 x by rewrite invr_gt0 ltr0n.
apply/le_anti/andP; split; first by apply/(keeps_lift uniform4_distribution w0) => // x' _.
have : (if 0 < uniform4 x then w x t / mass uniform4 w t else 0) <= lift uniform4 w t by apply: (best_upper _ x).
by rewrite u0 e mulfK // gt_eqF.
Qed.

Lemma four (x : 'I_4) : [\/ x = inord 0, x = inord 1, x = inord 2 | x = inord 3].
Proof.
by case: x => [[|[|[|[|k]]]] h] //; [constructor 1 | constructor 2 | constructor 3 | constructor 4];
  apply: val_inj; rewrite /= inordK.
Qed.

(** Reports that say "it is one of the first three" and "it is one of the last two". *)
Definition says (A : pred nat) (x : 'I_4) (y : bool) : R := (A x == y)%:R.
Definition first3 (i : nat) := (i < 3)%N.
Definition last2 (i : nat) := (2 <= i)%N.

Lemma says_kernel A : kernel (says A).
Proof.
move=> x; split=> [y |]; first by rewrite ler0n.
by rewrite big_bool /says eqb_id eqbF_neg; case: (A x); rewrite /= ?addr0 ?add0r.
Qed.

Lemma n0 k : k.+1%:R != 0 :> R.
Proof. by rewrite pnatr_eq0. Qed.

Lemma says_mass (A : pred nat) k : (nat_of_bool (A 0) + A 1 + A 2 + A 3)%N = k -> mass uniform4 (says A) true = k%:R / 4%:R.
Proof.
move=> <-; rewrite /mass sum4 /says /uniform4 !inordK // !eqb_id -!mulrDr mulrC; congr (_ / _).
by rewrite !natrD.
Qed.

(** The first leaks log 4/3 and the second log 2, but both together leak log 4. *)
Theorem sum_fails :
  [/\ lift uniform4 (says first3) true = 4%:R / 3%:R, lift uniform4 (says last2) true = 2%:R,
      lift uniform4 (joint (says first3) (says last2)) (true, true) = 4%:R &
      4%:R / 3%:R * 2%:R < 4%:R :> R].
Proof.
have s0 A x y : 0 <= says A x y by rewrite ler0n.
have j0 x yz : 0 <= joint (says first3) (says last2) x yz by rewrite mulr_ge0.
have m1 := says_mass (A := first3) (k := 3) (erefl _); have m2 := says_mass (A := last2) (k := 2) (erefl _).
have m3 : mass uniform4 (joint (says first3) (says last2)) (true, true) = 1 / 4%:R.
  by rewrite /mass sum4 /joint /says /uniform4 /= !inordK // !(mulr0, mulr1, add0r, addr0) mul1r.
have e1 : 4%:R / 3%:R * (3%:R / 4%:R) = 1 :> R by rewrite mulrA divfK ?divff ?n0.
have e2 : 2%:R * (2%:R / 4%:R) = 1 :> R by rewrite mulrA -natrM divff ?n0.
have e3 : 4%:R * (1 / 4%:R) = 1 :> R by rewrite mulrA mulr1 divff ?n0.
split.
- by apply: (lift_is (x := inord 0)); rewrite ?m1 ?e1 ?divr_gt0 ?ltr0n // /says ?inordK // => x; rewrite lern1 leq_b1.
- by apply: (lift_is (x := inord 2)); rewrite ?m2 ?e2 ?divr_gt0 ?ltr0n // /says ?inordK // => x; rewrite lern1 leq_b1.
- apply: (lift_is (x := inord 2)); rewrite ?m3 ?e3 ?divr_gt0 ?ltr0n ?ltr01 // /joint /says /= ?inordK ?mulr1 // => x.
  by rewrite -natrM lern1; do 2 case: (_ == _).
by rewrite mulrAC -natrM ltr_pdivr_mulr ?ltr0n // -natrM ltr_nat.
Qed.

(** Nor for mechanisms: name one of the three other answers. Every report leaks log 4/3, but two of them may leak
    log 2, which is more than 2 log 4/3. *)
Definition other (x y : 'I_4) : R := (x != y)%:R / 3%:R.

Lemma other_sum (y : 'I_4) : \sum_(x : 'I_4) (x != y)%:R = 3%:R :> R.
Proof.
rewrite (bigD1 y) //= eqxx add0r (eq_bigr (fun=> 1)) => [| x ->] //.
by rewrite sumr_const cardC1 card_ord.
Qed.

Lemma other_kernel : kernel other.
Proof.
move=> x; split=> [y |]; first by rewrite divr_ge0 ?ler0n.
by rewrite -mulr_suml; under eq_bigr do rewrite eq_sym; rewrite other_sum divff ?n0.
Qed.

Theorem sum_fails_for_mechanisms :
  [/\ forall y, lift uniform4 other y = 4%:R / 3%:R,
      lift uniform4 (joint other other) (inord 0, inord 1) = 2%:R &
      4%:R / 3%:R * (4%:R / 3%:R) < 2%:R :> R].
Proof.
have o0 x y : 0 <= other x y by rewrite divr_ge0 ?ler0n.
have j0 x yz : 0 <= joint other other x yz by rewrite mulr_ge0.
have m1 y : mass uniform4 other y = 1 / 4%:R.
  by rewrite /mass -mulr_sumr -mulr_suml other_sum /uniform4 divff ?n0 // mulr1 mul1r.
have m2 : mass uniform4 (joint other other) (inord 0, inord 1) = 3%:R^-1 * 3%:R^-1 / 2%:R.
  rewrite /mass sum4 /joint /other /uniform4 /= -!(inj_eq val_inj) /= !inordK // !(mul0r, mulr0, add0r, mul1r).
  have h : 4%:R^-1 + 4%:R^-1 = 2%:R^-1 :> R.
    by rewrite (natrM R 2 2) invfM -mulrDl -mulr2n -(mulr_natl (2%:R^-1)) mulfV ?mul1r ?n0.
  by rewrite -mulrDl h mulrC.
split=> [y | |].
- have [x xy] : exists x : 'I_4, x != y.
    by case: (four y) => ->; [exists (inord 1) | exists (inord 0) | exists (inord 0) | exists (inord 0)];
      rewrite -(inj_eq val_inj) /= !inordK.
  have e : 4%:R / 3%:R * mass uniform4 other y = 3%:R^-1 by rewrite m1 mul1r mulrAC divff ?mul1r ?n0.
  apply: (lift_is (x := x)) => // [| | x']; rewrite ?e ?m1 ?divr_gt0 ?ltr01 ?ltr0n // /other ?xy ?mul1r //.
  by case: (_ != _); rewrite ?mul1r // mul0r invr_ge0 ler0n.
- have e : 2%:R * mass uniform4 (joint other other) (inord 0, inord 1) = 3%:R^-1 * 3%:R^-1.
    by rewrite m2 mulrC divfK ?n0.
  have t0 : 0 < 3%:R^-1 :> R by rewrite invr_gt0 ltr0n.
  apply: (lift_is (x := inord 2)) => // [| | x']; rewrite ?e.
  + by rewrite m2 divr_gt0 ?mulr_gt0 ?ltr0n.
  + by rewrite /joint /other /= -!(inj_eq val_inj) /= !inordK // !mul1r.
  rewrite /joint /other /=; do 2 case: (_ != _); rewrite ?mul1r ?mul0r ?mulr0 // ?mulr_ge0 ?ltW //.
by rewrite mulf_div -!natrM ltr_pdivr_mulr ?ltr0n // -natrM ltr_nat.
Qed.
End Sums.

(** ** Adaptive choice

    Everybody is asked once, in some order, and each mechanism may be chosen by anybody from all that was published
    before. Seen from one person: [others] are the answers of all other people, which are independent of this
    person's; [before] is all that is published before this person is asked, [choose] the mechanism that this person
    then gets, and [after] all that is published later. *)
Section Adaptive.
Variable R : realFieldType.
Add Field field : (field_facts R).
Variables X Y O Before After : finType.
Variables (pi : X -> R) (others : O -> R).
Variable before : O -> Before -> R.
Variable choose : Before -> X -> Y -> R.
Variable after : O -> Before -> Y -> After -> R.
Hypotheses (prior : distribution pi) (people : distribution others).
Hypothesis before_kernel : kernel before.
Hypothesis choose_kernel : forall b, kernel (choose b).
Hypothesis after_kernel : forall o b, kernel (after o b).

(** How likely an answer x makes all that is published. *)
Definition published (x : X) (t : Before * Y * After) : R :=
  \sum_o others o * before o t.1.1 * choose t.1.1 x t.1.2 * after o t.1.1 t.1.2 t.2.

Lemma others_ge0 o : 0 <= others o. Proof. by case: people. Qed.
Lemma before_ge0 o b : 0 <= before o b. Proof. by case: (before_kernel o). Qed.
Lemma choose_ge0 b x y : 0 <= choose b x y. Proof. by case: (choose_kernel b x). Qed.
Lemma after_ge0 o b y a : 0 <= after o b y a. Proof. by case: (after_kernel o b y). Qed.

Theorem published_kernel : kernel published.
Proof.
move=> x; split=> [t |].
  by apply: sumr_ge0 => o _; rewrite !mulr_ge0 ?others_ge0 ?before_ge0 ?choose_ge0 ?after_ge0.
rewrite exchange_big /=; have [_ <-] := people; apply: eq_bigr => o _.
rewrite -(pair_bigA _ (fun by_ a => others o * before o by_.1 * choose by_.1 x by_.2 * after o by_.1 by_.2 a)) /=.
under eq_bigr do rewrite -mulr_sumr; under eq_bigr => i _.
  have [_ ->] := after_kernel o i.1 i.2; rewrite mulr1; over.
rewrite -(pair_bigA _ (fun b y => others o * before o b * choose b x y)) /=.
under eq_bigr do rewrite -mulr_sumr; under eq_bigr => b _.
  have [_ ->] := choose_kernel b x; rewrite mulr1; over.
by rewrite -mulr_sumr; have [_ ->] := before_kernel o; rewrite mulr1.
Qed.

(** If the column of y keeps c in the mechanism that was chosen, all that is published keeps it. *)
Lemma published_keeps c b y a : keeps c pi (choose b) y -> keeps c pi published (b, y, a).
Proof.
move=> k x px; pose s := \sum_o others o * before o b * after o b y a.
have s0 : 0 <= s by apply: sumr_ge0 => o _; rewrite !mulr_ge0 ?others_ge0 ?before_ge0 ?after_ge0.
have e x' : published x' (b, y, a) = choose b x' y * s.
  by rewrite /published mulr_sumr; apply: eq_bigr => o _ /=; rings R.
have -> : mass pi published (b, y, a) = mass pi (choose b) y * s.
  by rewrite /mass mulr_suml; apply: eq_bigr => x' _; rewrite e mulrA.
by rewrite e mulrA; apply: ler_wpmul2r => //; apply: k.
Qed.

(** The mechanism is certified for a set of priors that is itself computed from what was published. Where this set
    holds the person's prior, all that is ever published keeps the promise. *)
Theorem adaptive c (set_of : Before -> prior_set R X) b y a (U : finType) (g : X -> U -> R) :
  0 <= c -> proper (set_of b) -> keeps_all (choose b) c (set_of b) y -> member (set_of b) pi ->
  0 < mass pi published (b, y, a) -> (forall x u, 0 <= g x u) ->
  best (expected (posterior pi published (b, y, a)) g) <= c * best (expected pi g).
Proof.
move=> c0 ps ka mpi m0 g0; apply: promise => // [x t |]; first by have [] := published_kernel x.
by apply: published_keeps; apply: (set_certificate ps c0 ka mpi).
Qed.

(** How likely the set holds the prior does not depend on the person's answer: what comes before tells nothing. *)
Theorem before_tells_nothing b x x' :
  \sum_y \sum_a published x (b, y, a) = \sum_y \sum_a published x' (b, y, a).
Proof.
have e z : \sum_y \sum_a published z (b, y, a) = \sum_o others o * before o b.
  under eq_bigr do rewrite exchange_big /=; rewrite exchange_big /=; apply: eq_bigr => o _.
  under eq_bigr => y _.
    rewrite -mulr_sumr; have [_ ->] := after_kernel o b y; rewrite mulr1; over.
  by rewrite -mulr_sumr; have [_ ->] := choose_kernel b z; rewrite mulr1.
by rewrite !e.
Qed.
End Adaptive.
