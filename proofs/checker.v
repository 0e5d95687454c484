(** * A checker for mechanism files

    A program in whole numbers that says yes or no to the numbers of a mechanism file, and the proof that it says yes
    if and only if they keep what the file says. [extract.v] turns it into OCaml. *)

From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Extremal Require Import algebra promise sets.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.

(** ** The program *)
Section Program.
Local Open Scope Z_scope.

(** *** A number below e^epsilon

    For epsilon = level / 2^q: (a, k) with a / 2^k <= e^epsilon. The Taylor series of e^x, for x = epsilon / 2^s < 1,
    and s squarings; every step is rounded down. *)
Fixpoint taylor (fuel : nat) (x k j term total : Z) : Z :=
  if fuel is S fuel' then
    let term' := Z.shiftr (term * x) k / j in
    if term' =? 0 then total else taylor fuel' x k (j + 1) term' (total + term')
  else total.

Fixpoint squared (times : nat) (k total : Z) : Z :=
  if times is S times' then squared times' k (Z.shiftr (total * total) k) else total.

(** The largest lift that a prior of doubles allows is below 2^1075 < e^746: beyond 800 nothing is forbidden. *)
Definition capped (level q : Z) := if 800 * 2 ^ q <? level then (800, 0) else (level, q).

Definition exp_below (level q : Z) : Z * Z :=
  let (level, q) := capped level q in
  if level <=? 0 then (1, 0) else
  let exponent := Z.log2 level + 1 - q in
  let s := Z.max exponent 0 in
  let k := 128 + 2 * s + Z.max (- exponent) 0 in
  let x := Z.shiftr (level * 2 ^ k) (q + s) in
  (squared (Z.to_nat s) k (taylor (Z.to_nat k) x k 1 (2 ^ k) (2 ^ k)), k).

(** *** The numbers of a file

    Probabilities are whole numbers over one common denominator. *)
Record bounds := Bounds { centers : seq Z; lowers : seq Z; uppers : seq Z; movement : Z }.
Record numbers := Numbers {
  level : Z; power : Z; (* epsilon = level / 2^power *)
  denominator : Z;
  masses : seq Z; (* the prior *)
  set_bounds : option bounds; (* the set of priors, if the file has one *)
  columns : seq (seq Z) (* the weights of each report: one for each answer *)
}.

Definition zsum : seq Z -> Z := foldr Z.add 0.
Definition largest : seq Z -> Z := foldr Z.max 0.
Definition whole : Z := 2 ^ 62.

Definition row_sums (n : nat) (columns : seq (seq Z)) : seq Z :=
  foldr (fun column sums => [seq p.1 + p.2 | p <- zip column sums]) (nseq n 0) columns.

Definition fits (n : nat) (s : seq Z) := Nat.eqb (size s) n && all (Z.leb 0) s.

(** The form of a file is that which the library demands. Sums of doubles are rounded: that of a prior by less than 4e-16,
    and a set may miss its center and the prior of the file by 2^-39. *)
Definition at_most_slack (u x : Z) := x * 2 ^ 39 <=? u.

Definition near_set (u : Z) (b : bounds) (p : seq Z) :=
  [&& all (fun i => at_most_slack u (i.2 - i.1)) (zip p (lowers b)),
      all (fun i => at_most_slack u (i.1 - i.2)) (zip p (uppers b)) &
      at_most_slack u (zsum [seq Z.abs (i.1 - i.2) | i <- zip p (centers b)] - movement b)].

Definition well_formed_set (n : nat) (u : Z) (p : seq Z) (b : bounds) :=
  [&& [&& fits n (centers b), fits n (lowers b) & fits n (uppers b)], (0 <=? movement b) && (movement b <=? 2 * u),
      all (fun i => (i.1 <=? i.2) && (i.2 <=? u)) (zip (lowers b) (uppers b)),
      at_most_slack u (Z.abs (zsum (centers b) - u)), near_set u b (centers b) & near_set u b p].

Definition well_formed (f : numbers) : bool :=
  let n := size (masses f) in
  let u := denominator f in
  [&& Nat.leb 2 n, Nat.leb 1 (size (columns f)), 0 <=? level f, 0 <=? power f, 0 <? u,
      all (fun p => u <=? p * 10 ^ 150) (masses f),
      (-7 * u <? 2 ^ 54 * (zsum (masses f) - u)) && (2 ^ 54 * (zsum (masses f) - u) <? 6 * u),
      all (fits n) (columns f),
      all (Z.eqb whole) (row_sums n (columns f)) &
      if set_bounds f is Some b then well_formed_set n u (masses f) b else true].

(** One prior cannot move. A set is widened so that its center sums to 1 exactly; unit: 1 / (2 s u). *)
Definition mass_rows (center up down column : seq Z) : seq (row Z) := zip (zip center column) (zip up down).
Definition zsmallest : seq (row Z) -> Z -> Z := smallest Z.add Z.sub Z.mul 0 Z.leb.

Definition prior_keeps (a k : Z) (p column : seq Z) : bool :=
  let still := nseq (size p) 0 in
  largest column * zsum p * 2 ^ k <=? a * zsmallest (mass_rows p still still column) 0.

Definition set_keeps (a k u : Z) (b : bounds) (column : seq Z) : bool :=
  let s := zsum (centers b) in
  let center := [seq 2 * u * x | x <- centers b] in
  let up := [seq Z.max (2 * s * p.2 - p.1) 0 | p <- zip center (uppers b)] in
  let down := [seq Z.max (p.1 - 2 * s * p.2) 0 | p <- zip center (lowers b)] in
  let movable := movement b * s + s * Z.abs (s - u) in
  largest column * (2 * s * u) * 2 ^ k <=? a * zsmallest (mass_rows center up down column) movable.

Definition check (f : numbers) : bool :=
  well_formed f &&
  let (a, k) := exp_below (level f) (power f) in
  all (fun column => prior_keeps a k (masses f) column &&
         if set_bounds f is Some b then set_keeps a k (denominator f) b column else true) (columns f).
End Program.

(** ** Whole numbers in an ordered field *)
Local Open Scope ring_scope.
Section Embedding.
Variable R : realFieldType.
Add Field field : (field_facts R).

Definition z2r (z : Z) : R :=
  match z with Z0 => 0 | Zpos p => (Pos.to_nat p)%:R | Zneg p => - (Pos.to_nat p)%:R end.

Lemma z2r_nat n : z2r (Z.of_nat n) = n%:R.
Proof. by case: n => //= n; rewrite SuccNat2Pos.id_succ. Qed.

Lemma z2rN z : z2r (- z)%Z = - z2r z.
Proof. by case: z => [| p | p] /=; rewrite ?oppr0 ?opprK. Qed.

Lemma z2r_sub (a b : nat) : z2r (Z.of_nat a - Z.of_nat b)%Z = a%:R - b%:R.
Proof.
case: (leqP b a) => ab.
  by rewrite -Nat2Z.inj_sub; [rewrite z2r_nat -natrB | apply/ssrnat.leP].
have -> : (Z.of_nat a - Z.of_nat b = - (Z.of_nat b - Z.of_nat a))%Z by lia.
rewrite z2rN -Nat2Z.inj_sub; last exact/ssrnat.leP/ltnW.
by rewrite z2r_nat -opprB -natrB // ltnW.
Qed.

Lemma z_sub (z : Z) : exists a b : nat, z = (Z.of_nat a - Z.of_nat b)%Z.
Proof. by exists (Z.to_nat z), (Z.to_nat (- z)%Z); lia. Qed.

Lemma z2rD x y : z2r (x + y)%Z = z2r x + z2r y.
Proof.
have [a [b ->]] := z_sub x; have [c [d ->]] := z_sub y.
have -> : (Z.of_nat a - Z.of_nat b + (Z.of_nat c - Z.of_nat d) = Z.of_nat (a + c) - Z.of_nat (b + d))%Z.
  by rewrite !Nat2Z.inj_add; ring.
by rewrite !z2r_sub !natrD; rings R.
Qed.

Lemma z2rB x y : z2r (x - y)%Z = z2r x - z2r y.
Proof. by rewrite -Z.add_opp_r z2rD z2rN. Qed.

Lemma z2rM x y : z2r (x * y)%Z = z2r x * z2r y.
Proof.
have [a [b ->]] := z_sub x; have [c [d ->]] := z_sub y.
have -> : ((Z.of_nat a - Z.of_nat b) * (Z.of_nat c - Z.of_nat d) =
    Z.of_nat (a * c + b * d) - Z.of_nat (a * d + b * c))%Z.
  by rewrite !Nat2Z.inj_add !Nat2Z.inj_mul; ring.
by rewrite !z2r_sub !natrD !natrM; rings R.
Qed.

Lemma z2r2 : z2r 2 = 2%:R. Proof. by []. Qed.

Lemma z2r_ge0 z : (0 <= z2r z) = (0 <=? z)%Z.
Proof.
case: z => [| p | p] /=; rewrite ?lexx ?ler0n // oppr_ge0 lern0.
by case: (Pos.to_nat p) (Pos2Nat.is_pos p) => // h; lia.
Qed.

Arguments z2r : simpl never.
Arguments Z.mul : simpl never.
Arguments Z.max : simpl never.
Arguments Z.sub : simpl never.

Lemma z2r_le x y : (z2r x <= z2r y) = (x <=? y)%Z.
Proof.
rewrite -subr_ge0 -z2rB z2r_ge0; apply/idP/idP => /Z.leb_le h; apply/Z.leb_le; lia.
Qed.

Lemma z2r_lt x y : (z2r x < z2r y) = (x <? y)%Z.
Proof. by rewrite ltNge z2r_le Z.ltb_antisym. Qed.

Lemma z2r_pow2 k : (0 <= k)%Z -> z2r (2 ^ k) = 2%:R ^+ Z.to_nat k.
Proof.
move=> k0; rewrite -{1}(Z2Nat.id k) //; elim: (Z.to_nat k) => [| n IH] //.
by rewrite Nat2Z.inj_succ Z.pow_succ_r ?exprS ?z2rM ?IH //; lia.
Qed.

Lemma z2r_pow2_gt0 k : (0 <= k)%Z -> 0 < z2r (2 ^ k).
Proof. by move=> k0; rewrite z2r_pow2 // exprn_gt0 // ltr0n. Qed.

Lemma z2r_max x y : z2r (Z.max x y) = Num.max (z2r x) (z2r y).
Proof.
case: (Z.max_spec x y) => [[l ->] | [l ->]]; first by rewrite max_r // z2r_le; apply/Z.leb_le; lia.
by rewrite max_l // z2r_le; apply/Z.leb_le; lia.
Qed.

Lemma z2r_abs x : z2r (Z.abs x) = `|z2r x|.
Proof.
case: (Z.abs_spec x) => [[l ->] | [l ->]]; first by rewrite ger0_norm // z2r_ge0; apply/Z.leb_le.
by rewrite z2rN ler0_norm // -oppr_ge0 -z2rN z2r_ge0; apply/Z.leb_le; lia.
Qed.

Lemma z2r_sum s : z2r (zsum s) = \sum_(x <- s) z2r x.
Proof. by elim: s => [| x s IH]; rewrite ?big_nil // big_cons /= z2rD IH. Qed.

Lemma z2r_div x y : (0 < y)%Z -> z2r (x / y)%Z <= z2r x / z2r y.
Proof.
move=> y0; rewrite ler_pdivl_mulr ?(z2r_lt 0) //; last exact/Z.ltb_lt.
by rewrite -z2rM z2r_le; apply/Z.leb_le; rewrite Z.mul_comm; apply: Z.mul_div_le.
Qed.

Lemma z2r_shiftr x k : (0 <= k)%Z -> z2r (Z.shiftr x k) <= z2r x / z2r (2 ^ k).
Proof. by move=> k0; rewrite Z.shiftr_div_pow2 //; apply: z2r_div; apply: Z.pow_pos_nonneg. Qed.

(** *** The exponential function, by its partial sums: e^x is the least number that none of them exceeds *)
Definition partial (n : nat) (x : R) := \sum_(j < n) x ^+ j / (j`!)%:R.
Definition above_exp (x e : R) := forall n, partial n x <= e.

Lemma term_ge0 (x : R) j : 0 <= x -> 0 <= x ^+ j / (j`!)%:R.
Proof. by move=> x0; rewrite divr_ge0 ?exprn_ge0 ?ler0n. Qed.

Lemma partial_ge0 n (x : R) : 0 <= x -> 0 <= partial n x.
Proof. by move=> x0; apply: sumr_ge0 => j _; apply: term_ge0. Qed.

Lemma sum_shifted (G : nat -> R) j n N : (forall i, 0 <= G i) -> (j + n <= N)%N ->
  \sum_(i < n) G i <= \sum_(k < N | (j <= k)%N) G (k - j)%N.
Proof.
move=> G0 jn; have jN : (j <= N)%N by apply: leq_trans jn; apply: leq_addr.
have nN : (n <= N - j)%N by rewrite leq_subRL.
rewrite -(big_mkord (fun k => j <= k)%N (fun k => G (k - j)%N)) (big_cat_nat _ _ _ (leq0n j) jN) /=.
apply: ler_paddl; first by apply: sumr_ge0.
rewrite -[X in index_iota X N]add0n big_addn -(big_mkord xpredT) [X in _ <= X](eq_bigl xpredT) => [| i]; last by rewrite leq_addl.
rewrite [X in _ <= X](eq_bigr (fun i => G i)) => [| i _]; last by rewrite addnK.
rewrite [X in _ <= X](big_cat_nat _ _ _ (leq0n n) nN) /= ler_addl; exact: sumr_ge0.
Qed.

Lemma partial_mul n m (x y : R) : 0 <= x -> 0 <= y -> partial n x * partial m y <= partial (n + m) (x + y).
Proof.
move=> x0 y0; pose a i := x ^+ i / (i`!)%:R; pose b i := y ^+ i / (i`!)%:R.
have a0 i : 0 <= a i by apply: term_ge0.
have b0 i : 0 <= b i by apply: term_ge0.
have -> : partial (n + m) (x + y) = \sum_(k < n + m) \sum_(j < n + m | (j <= k)%N) a (k - j)%N * b j.
  apply: eq_bigr => k _; rewrite exprDn mulr_suml.
  rewrite (big_ord_widen_cond (n + m) xpredT (fun j => x ^+ (k - j) * y ^+ j *+ 'C(k, j) / k`!%:R)) //=.
  apply: eq_big => [j | j jk]; first by rewrite ltnS.
  rewrite ltnS in jk; rewrite /a /b -mulr_natr mulf_div -!mulrA; congr (_ * (_ * _)).
  have kf : (k`!)%:R != 0 :> R by rewrite pnatr_eq0 -lt0n fact_gt0.
  have jf : (j`! * (k - j)`!)%:R != 0 :> R by rewrite pnatr_eq0 -lt0n muln_gt0 !fact_gt0.
  rewrite -(bin_fact jk) natrM invfM mulrA divff ?mul1r; last by rewrite pnatr_eq0 -lt0n bin_gt0.
  by rewrite mulnC natrM.
rewrite (exchange_big_dep xpredT) //= mulr_sumr.
apply: le_trans (_ : \sum_(j < m) \sum_(k < n + m | (j <= k)%N) a (k - j)%N * b j <= _).
  apply: ler_sum => j _; rewrite -mulr_suml; apply: (ler_wpmul2r (b0 j)).
  by apply: sum_shifted => //; rewrite addnC leq_add2l ltnW.
rewrite (big_ord_widen (n + m) (fun j => \sum_(k < n + m | (j <= k)%N) a (k - j)%N * b j)) ?leq_addl //.
rewrite [X in _ <= X](bigID (fun j : 'I_(n + m) => j < m)%N) /= ler_addl.
by apply: sumr_ge0 => j _; apply: sumr_ge0 => k _; apply: mulr_ge0.
Qed.

(** The square of the square of ... *)
Lemma partial_squares s n (x : R) : 0 <= x -> exists n', partial n x ^+ (2 ^ s) <= partial n' (x * 2%:R ^+ s).
Proof.
move=> x0; elim: s => [| s [n' IH]]; first by exists n; rewrite expr1 expr0 mulr1.
exists (n' + n')%N; rewrite expnSr exprM expr2 exprSr mulrA mulr_natr mulr2n.
apply: le_trans (_ : partial n' (x * 2%:R ^+ s) * partial n' (x * 2%:R ^+ s) <= _).
  by apply: ler_pmul => //; rewrite exprn_ge0 // partial_ge0.
by apply: partial_mul; rewrite mulr_ge0 // exprn_ge0 // ler0n.
Qed.

Lemma taylor_below fuel (x k j term total : Z) (xi : R) (n : nat) :
  (0 <= k)%Z -> 0 <= xi -> (0 <= x)%Z -> z2r x <= z2r (2 ^ k) * xi -> j = Z.of_nat n.+1 ->
  (0 <= term)%Z -> z2r term <= z2r (2 ^ k) * (xi ^+ n / (n`!)%:R) ->
  z2r total <= z2r (2 ^ k) * partial n.+1 xi ->
  exists n', z2r (taylor fuel x k j term total) <= z2r (2 ^ k) * partial n' xi.
Proof.
move=> k0 xi0 x0 xk; have K := z2r_pow2_gt0 k0.
elim: fuel j term total n => [| fuel IH] j term total n jn t0 tn le /=; first by exists n.+1.
set term' := (_ / j)%Z.
have j0 : (0 < j)%Z by lia.
have t'0 : (0 <= term')%Z by apply: Z.div_pos => //; apply: (proj2 (Z.shiftr_nonneg _ _)); apply: Z.mul_nonneg_nonneg.
have t'n : z2r term' <= z2r (2 ^ k) * (xi ^+ n.+1 / (n.+1`!)%:R).
  apply: le_trans (z2r_div _ j0) _; rewrite ler_pdivr_mulr ?(z2r_lt 0) //; last exact/Z.ltb_lt.
  apply: le_trans (z2r_shiftr _ k0) _; rewrite ler_pdivr_mulr // z2rM.
  apply: le_trans (ler_pmul _ _ tn xk) _; rewrite ?z2r_ge0; try exact/Z.leb_le.
  have nf : (n`!)%:R != 0 :> R by rewrite pnatr_eq0 -lt0n fact_gt0.
  have n1 : n.+1%:R != 0 :> R by rewrite pnatr_eq0.
  rewrite jn z2r_nat factS natrM exprS le_eqVlt; apply/orP; left; apply/eqP.
  move: nf n1; set f := _%:R; set g := n.+1%:R; clearbody f g => /eqP nf /eqP n1.
  by fields R; split.
case: ifP => _; first by exists n.+1.
apply: (IH _ _ _ n.+1) => //; first by rewrite jn; lia.
by rewrite z2rD [X in _ * X]big_ord_recr /= mulrDr ler_add.
Qed.

Lemma squared_below times (k total : Z) (b : R) : (0 <= k)%Z -> (0 <= total)%Z -> 0 <= b ->
  z2r total <= z2r (2 ^ k) * b -> z2r (squared times k total) <= z2r (2 ^ k) * b ^+ (2 ^ times).
Proof.
move=> k0; have K := z2r_pow2_gt0 k0.
elim: times total b => [| times IH] total b t0 b0 tb /=; first by rewrite expn0 expr1.
rewrite expnS exprM; apply: IH.
- by apply: (proj2 (Z.shiftr_nonneg _ _)); apply: Z.mul_nonneg_nonneg.
- by rewrite exprn_ge0.
apply: le_trans (z2r_shiftr _ k0) _; rewrite ler_pdivr_mulr // z2rM expr2.
have z0 : 0 <= z2r total by rewrite z2r_ge0; apply/Z.leb_le.
apply: le_trans (ler_pmul z0 z0 tb tb) _; rewrite le_eqVlt; apply/orP; left; apply/eqP; rings R.
Qed.

Lemma taylor_ge0 fuel (x k j term total : Z) : (0 <= x)%Z -> (0 < j)%Z -> (0 <= term)%Z -> (0 <= total)%Z ->
  (0 <= taylor fuel x k j term total)%Z.
Proof.
move=> x0; elim: fuel j term total => [| fuel IH] j term total j0 t0 T0 //=.
have t'0 : (0 <= Z.shiftr (term * x) k / j)%Z.
  by apply: Z.div_pos => //; apply: (proj2 (Z.shiftr_nonneg _ _)); apply: Z.mul_nonneg_nonneg.
by case: ifP => // _; apply: IH => //; lia.
Qed.

(** The number that the checker uses is at most e^epsilon. *)
Lemma exp_below_level (level q : Z) : (0 <= level)%Z -> (0 <= q)%Z ->
  let (a, k) := exp_below level q in
  [/\ (0 <= k)%Z, (0 <= a)%Z & exists n, z2r a / z2r (2 ^ k) <= partial n (z2r level / z2r (2 ^ q))].
Proof.
move=> l0 q0; rewrite /exp_below.
have Q := z2r_pow2_gt0 q0.
have [l1 [q1 cap]] : exists l1 q1, capped level q = (l1, q1) by case: (capped _ _) => l1 q1; exists l1, q1.
have [l10 q10 below] : [/\ (0 <= l1)%Z, (0 <= q1)%Z & z2r l1 / z2r (2 ^ q1) <= z2r level / z2r (2 ^ q)].
  move: cap; rewrite /capped; case: ifP => [/Z.ltb_lt big | _] [<- <-]; split=> //.
  by rewrite Z.pow_0_r divr1 ler_pdivl_mulr // -z2rM z2r_le; apply/Z.leb_le; lia.
have Q1 := z2r_pow2_gt0 q10.
have e0 : 0 <= z2r l1 / z2r (2 ^ q1) by rewrite divr_ge0 ?(ltW Q1) // z2r_ge0; apply/Z.leb_le.
have grows (n : nat) (x y : R) : 0 <= x -> x <= y -> partial n x <= partial n y.
  move=> x0 xy; apply: ler_sum => j _; rewrite ler_wpmul2r ?invr_ge0 ?ler0n //.
  by rewrite ler_expn2r // nnegrE // (le_trans x0).
rewrite cap; case: ifP => [/Z.leb_le l_le | /Z.leb_gt l_gt].
  split=> //; exists 1%N; rewrite Z.pow_0_r divr1 /partial big_ord_recl big_ord0 addr0 expr0 fact0 divr1; exact: lexx.
set s := Z.max _ 0; set k := (_ + _)%Z; set x := Z.shiftr (l1 * _) _.
have s0 : (0 <= s)%Z by lia.
have k0 : (0 <= k)%Z by lia.
have K := z2r_pow2_gt0 k0; have S := z2r_pow2_gt0 s0.
have x0 : (0 <= x)%Z.
  by apply: (proj2 (Z.shiftr_nonneg _ _)); apply: Z.mul_nonneg_nonneg => //; apply: Z.pow_nonneg.
pose xi := z2r l1 / z2r (2 ^ q1) / z2r (2 ^ s).
have xi0 : 0 <= xi by rewrite divr_ge0 // ltW.
have xk : z2r x <= z2r (2 ^ k) * xi.
  apply: le_trans (z2r_shiftr _ _) _; first lia.
  rewrite Z.pow_add_r // !z2rM le_eqVlt; apply/orP; left; apply/eqP.
  by rewrite /xi; fields R; split; apply/eqP; rewrite gt_eqF.
have one : z2r (2 ^ k) <= z2r (2 ^ k) * partial 1 xi.
  by rewrite /partial big_ord_recl big_ord0 addr0 expr0 fact0 divr1 mulr1.
have pk : (0 <= 2 ^ k)%Z by apply: Z.pow_nonneg.
have first : z2r (2 ^ k) <= z2r (2 ^ k) * (xi ^+ 0 / (0`!)%:R) by rewrite expr0 fact0 divr1 mulr1.
have [n below_n] := taylor_below (Z.to_nat k) (n := 0) k0 xi0 x0 xk (erefl _) pk first one.
have t0 := taylor_ge0 x0 (fuel := Z.to_nat k) (k := k) Z.lt_0_1 pk pk.
have sb := squared_below (Z.to_nat s) k0 t0 (partial_ge0 n xi0) below_n.
have [n' sq] := partial_squares (Z.to_nat s) n xi0.
split=> //.
  elim: (Z.to_nat s) (taylor _ _ _ _ _ _) t0 => //= i IH t t0; apply: IH.
  by apply: (proj2 (Z.shiftr_nonneg _ _)); apply: Z.mul_nonneg_nonneg.
exists n'; rewrite ler_pdivr_mulr // mulrC; apply: le_trans sb _; apply: (ler_wpmul2l (ltW K)).
apply: le_trans sq _; have -> : xi * 2%:R ^+ Z.to_nat s = z2r l1 / z2r (2 ^ q1).
  by rewrite -z2r_pow2 // /xi divfK // gt_eqF.
exact: grows.
Qed.

Corollary exp_below_exp (level q : Z) (e : R) : (0 <= level)%Z -> (0 <= q)%Z ->
  above_exp (z2r level / z2r (2 ^ q)) e ->
  let (a, k) := exp_below level q in z2r a / z2r (2 ^ k) <= e.
Proof.
move=> l0 q0 ab; have := exp_below_level l0 q0; case: (exp_below level q) => a k [_ _ [n h]].
exact: le_trans h (ab n).
Qed.

(** *** The program of [sets.v], run in whole numbers and in R *)
Definition zsaved := saved Z.add Z.sub Z.mul 0%Z Z.leb.
Arguments zsaved : simpl never.
Arguments rsaved : simpl never.
Definition pair_r (i : Z * Z) := (z2r i.1, z2r i.2).
Definition row_r (r : row Z) : row R := (pair_r r.1, pair_r r.2).

Lemma zsaved_cons low room lows high stock highs left :
  zsaved ((low, room) :: lows) ((high, stock) :: highs) left =
  if (high <=? low)%Z then 0%Z
  else if ((left <=? room) && (left <=? stock))%Z then (left * (high - low))%Z
  else if (room <=? stock)%Z
       then (room * (high - low) + zsaved lows ((high, stock - room) :: highs) (left - room))%Z
  else (stock * (high - low) + zsaved ((low, room - stock) :: lows) highs (left - stock))%Z.
Proof. by []. Qed.

Lemma zsaved_r L H left : z2r (zsaved L H left) = rsaved (map pair_r L) (map pair_r H) (z2r left).
Proof.
elim: L H left => [| [low room] L IHL] H left //.
elim: H room left => [| [high stock] H IHH] room left //.
rewrite zsaved_cons /= rsaved_cons !z2r_le; do ![case: ifP => _]; rewrite ?z2rD ?z2rM ?z2rB //.
- by rewrite IHL /= /pair_r /= !z2rB.
by rewrite IHH /= /pair_r /= !z2rB.
Qed.

Section Sorting.
Variables (T : Type) (le le' : rel T).
Hypothesis same : le =2 le'.
Lemma merge_cons (r : rel T) x s y t :
  merge r (x :: s) (y :: t) = if r x y then x :: merge r s (y :: t) else y :: merge r (x :: s) t.
Proof. by []. Qed.

Lemma eq_merge s t : merge le s t = merge le' s t.
Proof.
elim: s t => [| x s IH] t //; elim: t => [| y t IHt] //.
by rewrite !merge_cons same IHt IH.
Qed.

Lemma eq_push s ss : merge_sort_push le s ss = merge_sort_push le' s ss.
Proof. by elim: ss s => //= [[| x t]] ss IH s //; rewrite eq_merge IH. Qed.

Lemma eq_pop s ss : merge_sort_pop le s ss = merge_sort_pop le' s ss.
Proof. by elim: ss s => //= t ss IH s; rewrite eq_merge IH. Qed.

Lemma eq_sort s : sort le s = sort le' s.
Proof.
by rewrite !sortE; elim: s [::] => [| x s IH] ss /=; rewrite ?eq_pop // eq_push IH.
Qed.
End Sorting.

Lemma zsmallest_r rows movable : z2r (zsmallest rows movable) = rsmallest (map row_r rows) (z2r movable).
Proof.
rewrite /zsmallest /rsmallest /smallest z2rB; congr (_ - _).
  by elim: rows => //= r rows IH; rewrite z2rD z2rM IH.
have -> : sorted_rows <=%R (map row_r rows) = map row_r (sorted_rows Z.leb rows).
  by rewrite /sorted_rows sort_map; congr map; apply: eq_sort => r r' /=; rewrite z2r_le.
rewrite zsaved_r /lows /highs map_rev -!map_comp; congr (rsaved _ (rev _) _); exact: eq_map.
Qed.

(** Masses may be in any unit. *)
Definition scaled_pair (k : R) (i : R * R) := (i.1, k * i.2).
Definition scaled_row (k : R) (r : row R) : row R := (k * r.1.1, r.1.2, (k * r.2.1, k * r.2.2)).

Lemma rsaved_scaled k L H left : 0 < k ->
  rsaved (map (scaled_pair k) L) (map (scaled_pair k) H) (k * left) = k * rsaved L H left.
Proof.
move=> k0; elim: L H left => [| [low room] L IHL] H left; first by rewrite mulr0.
elim: H room left => [| [high stock] H IHH] room left; first by rewrite !rsaved_nil mulr0.
rewrite /= /scaled_pair /= !rsaved_cons !(ler_pmul2l k0); do ![case: ifP => _]; rewrite ?mulr0 ?mulrA //.
- by rewrite -!mulrBr [RHS]mulrDr -(IHL ((high, stock - room) :: H)) mulrA.
by rewrite -!mulrBr [RHS]mulrDr -IHH mulrA.
Qed.

Lemma rsmallest_scaled k rows movable : 0 < k ->
  rsmallest (map (scaled_row k) rows) (k * movable) = k * rsmallest rows movable.
Proof.
move=> k0; rewrite /rsmallest /smallest mulrBr; congr (_ - _).
  by elim: rows => [| r rows IH] /=; rewrite ?mulr0 // mulrDr IH mulrA.
have -> : sorted_rows <=%R (map (scaled_row k) rows) = map (scaled_row k) (sorted_rows <=%R rows).
  by rewrite /sorted_rows sort_map.
rewrite -/(rsaved _ _ _) -rsaved_scaled // /lows /highs map_rev -!map_comp.
by congr (rsaved _ (rev _) _); apply: eq_map.
Qed.

Lemma rsaved_still (L H : seq (R * R)) : all (fun i => 0 <= i.2) L -> all (fun i => 0 <= i.2) H -> rsaved L H 0 = 0.
Proof.
case: L => [| [low room] L] //; case: H => [| [high stock] H]; first by rewrite rsaved_nil.
by rewrite rsaved_cons /= => /andP [-> _] /andP [-> _]; rewrite mul0r if_same.
Qed.

(** *** From lists to functions *)
Lemma list_of n (s : seq Z) : size s = n -> s = [seq nth 0%Z s (val x) | x : 'I_n].
Proof.
move=> sn; apply: (@eq_from_nth _ 0%Z) => [| i i_s]; first by rewrite size_map size_enum_ord.
rewrite sn in i_s; rewrite (nth_map (Ordinal i_s)) ?size_enum_ord //; congr nth.
by rewrite /= nth_enum_ord.
Qed.

Lemma mass_rows_of n (center up down column : seq Z) :
  size center = n -> size up = n -> size down = n -> size column = n ->
  map row_r (mass_rows center up down column) =
  rows_of (fun x : 'I_n => z2r (nth 0%Z center x)) (fun x => z2r (nth 0%Z column x))
    (fun x => z2r (nth 0%Z up x)) (fun x => z2r (nth 0%Z down x)).
Proof.
move=> sc su sd sw; rewrite /rows_of /mass_rows.
rewrite {1}(list_of sc) {1}(list_of su) {1}(list_of sd) {1}(list_of sw).
have z (A B : Type) (f : 'I_n -> A) (g : 'I_n -> B) (s : seq 'I_n) :
  zip (map f s) (map g s) = map (fun x => (f x, g x)) s by elim: s => //= x s ->.
by rewrite !z -map_comp.
Qed.

(** *** What a column of weights must satisfy *)
Lemma z2r_largest s b : (z2r (largest s) <= b) = (0 <= b) && all (fun x => z2r x <= b) s.
Proof. by elim: s => [| x s IH] /=; rewrite ?andbT // z2r_max le_maxl IH andbCA. Qed.

Lemma fits_of n s : fits n s -> size s = n /\ forall i, 0 <= z2r (nth 0%Z s i).
Proof.
case/andP=> /Nat.eqb_eq sn /(all_nthP 0%Z) s0; split=> // i.
by case: (ltnP i (size s)) => si; [rewrite z2r_ge0 s0 | rewrite nth_default].
Qed.

Lemma sum_of n (s : seq Z) : size s = n -> z2r (zsum s) = \sum_(x < n) z2r (nth 0%Z s x).
Proof. by move=> sn; rewrite z2r_sum {1}(list_of sn) big_map big_enum. Qed.


Lemma largest_at_most n (s : seq Z) b : fits n s -> (0 < n)%N ->
  z2r (largest s) <= b <-> forall x : 'I_n, z2r (nth 0%Z s x) <= b.
Proof.
move=> fs n0; have [sn s0] := fits_of fs; rewrite z2r_largest; split=> [/andP [_ /(all_nthP 0%Z) h] x | h].
  by apply: h; rewrite sn.
apply/andP; split; first by apply: le_trans (s0 0%N) (h (Ordinal n0)).
by apply/(all_nthP 0%Z) => i; rewrite sn => ni; apply: (h (Ordinal ni)).
Qed.

Lemma prior_keeps_of n a k (p column : seq Z) :
  (0 < n)%N -> (0 <= k)%Z -> fits n p -> fits n column -> 0 < z2r (zsum p) ->
  prior_keeps a k p column <->
  forall x : 'I_n, z2r (nth 0%Z column x) <=
    z2r a / z2r (2 ^ k) * \sum_(x' < n) z2r (nth 0%Z p x') / z2r (zsum p) * z2r (nth 0%Z column x').
Proof.
move=> n0 k0 fp fc t0; have K := z2r_pow2_gt0 k0; have [sp p0] := fits_of fp; have [sc c0] := fits_of fc.
rewrite /prior_keeps; set still := nseq _ _; have ss : size still = n by rewrite size_nseq.
have zero i : z2r (nth 0%Z still i) = 0 by rewrite /still nth_nseq if_same.
have -> : (largest column * zsum p * 2 ^ k <=? a * zsmallest (mass_rows p still still column) 0)%Z =
    (z2r (largest column) <= z2r a / z2r (2 ^ k) *
      \sum_(x' < n) z2r (nth 0%Z p x') / z2r (zsum p) * z2r (nth 0%Z column x')); last exact: largest_at_most.
rewrite -z2r_le !z2rM zsmallest_r (mass_rows_of sp ss ss sc) /= /rsmallest -/(rsmallest _ _).
have -> : rsmallest (rows_of (fun x : 'I_n => z2r (nth 0%Z p x)) (fun x => z2r (nth 0%Z column x))
    (fun x => z2r (nth 0%Z still x)) (fun x => z2r (nth 0%Z still x))) 0 =
    \sum_(x < n) z2r (nth 0%Z p x) * z2r (nth 0%Z column x).
  rewrite -/(smallest_sum _ _ _ _ _) smallest_saved rsaved_still ?subr0 //.
    by rewrite /weights all_map; apply/allP => i /mapP [x _ ->] /=; rewrite zero.
  by rewrite /weights all_map all_rev; apply/allP => i /mapP [x _ ->] /=; rewrite zero.
have -> : \sum_(x' < n) z2r (nth 0%Z p x') / z2r (zsum p) * z2r (nth 0%Z column x') =
    (\sum_(x' < n) z2r (nth 0%Z p x') * z2r (nth 0%Z column x')) / z2r (zsum p).
  by rewrite mulr_suml; apply: eq_bigr => x _; rewrite mulrAC.
by rewrite mulrA ler_pdivl_mulr // [z2r a / _ * _]mulrAC ler_pdivl_mulr.
Qed.

(** A set of priors, as the file names it. *)
Definition named_set n (u : Z) (b : bounds) : prior_set R [finType of 'I_n] :=
  PriorSet (fun x : 'I_n => z2r (nth 0%Z (centers b) x) / z2r u) (fun x => z2r (nth 0%Z (lowers b) x) / z2r u)
    (fun x => z2r (nth 0%Z (uppers b) x) / z2r u) (z2r (movement b) / z2r u).

Lemma set_keeps_of n a k u b (column : seq Z) :
  (0 < n)%N -> (0 <= k)%Z -> (0 < u)%Z -> (0 < zsum (centers b))%Z ->
  fits n (centers b) -> fits n (lowers b) -> fits n (uppers b) -> fits n column ->
  set_keeps a k u b column <->
  forall x : 'I_n, z2r (nth 0%Z column x) <=
    z2r a / z2r (2 ^ k) * smallest_mean (widened (named_set n u b)) (fun x' => z2r (nth 0%Z column x')).
Proof.
move=> n0 k0 u0 s0 fce fl fu fc; have K := z2r_pow2_gt0 k0.
have [sce ce0] := fits_of fce; have [sl l0] := fits_of fl; have [su h0] := fits_of fu; have [sc c0] := fits_of fc.
have U : 0 < z2r u by rewrite (z2r_lt 0); apply/Z.ltb_lt.
have S : 0 < z2r (zsum (centers b)) by rewrite (z2r_lt 0); apply/Z.ltb_lt.
rewrite /set_keeps; set s := zsum (centers b) in s0 S *; set zcenter := map _ _; set up := map _ _; set down := map _ _.
set movable := (_ + _)%Z; pose T := 2%:R * z2r s * z2r u.
have T0 : 0 < T by rewrite !mulr_gt0 ?ltr0n.
have zT : z2r (2 * s * u)%Z = T by rewrite !z2rM.
have scen : size zcenter = n by rewrite size_map.
have sup : size up = n by rewrite size_map size_zip scen su minnn.
have sdown : size down = n by rewrite size_map size_zip scen sl minnn.
have two : 2%:R != 0 :> R by rewrite pnatr_eq0.
have Sn : z2r s != 0 by rewrite gt_eqF.
have Un : z2r u != 0 by rewrite gt_eqF.
pose W := widened (named_set n u b); pose c (x : 'I_n) := z2r (nth 0%Z (centers b) x) / z2r s.
have total : \sum_x sets.center (named_set n u b) x = z2r s / z2r u by rewrite /= -mulr_suml -sum_of.
have Wc x : sets.center W x = c x.
  rewrite /W /widened total /= /c; by rewrite invf_div mulrA divfK.
have Wr : z2r movable = T * (radius W / 2%:R).
  rewrite /W /widened total /= /movable z2rD !z2rM z2r_abs z2rB /T.
  have -> : z2r s / z2r u - 1 = (z2r s - z2r u) / z2r u by rewrite mulrBl divff.
  rewrite normf_div [`|z2r u|]gtr0_norm //; move: Un Sn two; set v := z2r u; set t := z2r s; set d := `|_ - _|.
  set q := 2%:R; set m := z2r _; clearbody v t d q m => /eqP Un /eqP Sn /eqP two; fields R; split=> //.
have nth_c x : z2r (nth 0%Z zcenter (val x)) = T * c x.
  rewrite (nth_map 0%Z) ?sce //= !z2rM z2r2 /c /T; move: Sn; set q := 2%:R; set v := z2r u; set t := z2r s; set m := z2r _.
  by clearbody q v t m => /eqP Sn; fields R.
have spread (x y : R) : Num.max x y - y = Num.max (x - y) 0 by rewrite addr_maxl subrr.
have xn (x : 'I_n) : (val x < n)%N := ltn_ord x.
have up_w x : upper W x - sets.center W x = Num.max (z2r (nth 0%Z (uppers b) x) / z2r u - c x) 0.
  by rewrite -spread -Wc.
have down_w x : sets.center W x - lower W x = Num.max (c x - z2r (nth 0%Z (lowers b) x) / z2r u) 0.
  have -> : lower W x = Num.min (z2r (nth 0%Z (lowers b) x) / z2r u) (c x) by rewrite -Wc.
  rewrite Wc; case: (leP (z2r (nth 0%Z (lowers b) x) / z2r u) (c x)) => h; first by rewrite max_l // subr_ge0.
  by rewrite subrr max_r // subr_le0 ltW.
have unit x : 2%:R * z2r s * x = T * (x / z2r u) by rewrite /T -!mulrA; congr (_ * (_ * _)); rewrite mulrC divfK.
have nth_up x : z2r (nth 0%Z up (val x)) = T * (upper W x - sets.center W x).
  rewrite up_w (nth_map (0%Z, 0%Z)) ?size_zip ?scen ?su ?minnn ?xn // nth_zip ?scen ?su //=.
  by rewrite z2r_max !z2rB nth_c !z2rM z2r2 unit maxr_pmulr ?mulr0 ?(ltW T0) // mulrBr.
have nth_down x : z2r (nth 0%Z down (val x)) = T * (sets.center W x - lower W x).
  rewrite down_w (nth_map (0%Z, 0%Z)) ?size_zip ?scen ?sl ?minnn ?xn // nth_zip ?scen ?sl //=.
  by rewrite z2r_max !z2rB nth_c !z2rM z2r2 unit maxr_pmulr ?mulr0 ?(ltW T0) // mulrBr.
have e : z2r (zsmallest (mass_rows zcenter up down column) movable) =
    T * smallest_mean W (fun x' => z2r (nth 0%Z column (val x'))).
  rewrite zsmallest_r (mass_rows_of scen sup sdown sc) Wr /smallest_mean /smallest_sum -rsmallest_scaled //.
  congr (rsmallest _ _); rewrite /rows_of -[RHS]map_comp; apply: eq_map => x.
  by rewrite /comp /scaled_row nth_c nth_up nth_down Wc.
have -> : (largest column * (2 * s * u) * 2 ^ k <=? a * zsmallest (mass_rows zcenter up down column) movable)%Z =
    (z2r (largest column) <= z2r a / z2r (2 ^ k) * smallest_mean W (fun x' => z2r (nth 0%Z column (val x'))));
  last exact: largest_at_most.
rewrite -z2r_le (z2rM _ (2 ^ k)) (z2rM (largest column)) zT (z2rM a) e [z2r a * (T * _)]mulrCA mulrAC [z2r (largest _) * _ * T]mulrC.
by rewrite ler_pmul2l // [z2r a / _ * _]mulrAC ler_pdivl_mulr.
Qed.
End Embedding.

(** ** What the checker's yes means *)
Section Verdict.
Variable R : realFieldType.
Variable f : numbers.
Notation n := (size (masses f)).
Notation m := (size (columns f)).
Notation z2r := (@z2r R).

Lemma whole_gt0 : 0 < z2r whole.
Proof. exact: (z2r_pow2_gt0 R (k := 62)). Qed.
Opaque whole.

Definition weight (x : 'I_n) (y : 'I_m) : R := z2r (nth 0%Z (nth [::] (columns f) y) x).
Definition mechanism x y : R := weight x y / z2r whole.
Definition file_prior (x : 'I_n) : R := z2r (nth 0%Z (masses f) x) / z2r (zsum (masses f)).
Definition file_set (b : bounds) := named_set R n (denominator f) b.
Definition epsilon : R := z2r (level f) / z2r (2 ^ power f).

Record facts : Prop := {
  n_gt0 : (0 < n)%N;
  level_ge0 : (0 <= level f)%Z;
  power_ge0 : (0 <= power f)%Z;
  unit_gt0 : (0 < denominator f)%Z;
  masses_fit : fits n (masses f);
  masses_gt0 : forall x : 'I_n, 0 < z2r (nth 0%Z (masses f) x);
  columns_fit : forall y : 'I_m, fits n (nth [::] (columns f) y);
  rows_whole : forall x : 'I_n, nth 0%Z (row_sums n (columns f)) x = whole;
  set_fits : forall b, set_bounds f = Some b ->
    [/\ fits n (centers b), fits n (lowers b), fits n (uppers b), (0 <= movement b)%Z & (0 < zsum (centers b))%Z]
}.

Lemma row_sums_size c : all (fits n) c -> size (row_sums n c) = n.
Proof.
elim: c => [| col c IH] /=; first by rewrite size_nseq.
by case/andP=> /andP [/Nat.eqb_eq sc _] /IH e; rewrite size_map size_zip e sc minnn.
Qed.

Lemma well_formed_facts : well_formed f -> facts.
Proof.
case/and5P=> /Nat.leb_le n2 /Nat.leb_le m1 /Z.leb_le l0 /Z.leb_le p0 /andP [/Z.ltb_lt u0].
case/and5P=> /(all_nthP 0%Z) pos _ /[dup] cf /(all_nthP [::]) fit /(all_nthP 0%Z) rows sets.
have pos' (x : 'I_n) : (0 <? nth 0%Z (masses f) x)%Z.
  apply/Z.ltb_lt/Z.nle_gt => neg; have /Z.leb_le := pos x (ltn_ord x); apply/Z.lt_nge.
  by apply: Z.le_lt_trans u0; apply: Z.mul_nonpos_nonneg.
split=> //.
- by apply/ssrnat.leP; lia.
- apply/andP; split; first exact/Nat.eqb_eq.
  apply/(all_nthP 0%Z) => i ni; have := pos' (Ordinal ni) => /Z.ltb_lt h; apply/Z.leb_le.
  exact: Z.lt_le_incl h.
- by move=> x; rewrite (z2r_lt R 0); apply: pos'.
- by move=> y; apply: fit.
- by move=> x; apply/esym/Z.eqb_eq/rows; rewrite row_sums_size.
move=> b e; move: sets; rewrite e => /and5P [/and3P [fc fl fu] /andP [/Z.leb_le r0 _] _ /Z.leb_le s1 _]; split=> //.
by move: s1; have -> : (2 ^ 39 = 549755813888)%Z by []; lia.
Qed.

Lemma weight_ge0 : facts -> forall x y, 0 <= weight x y.
Proof. by move=> w x y; have [_ c0] := fits_of R (columns_fit w y); apply: c0. Qed.

Lemma masses_sum : facts -> 0 < z2r (zsum (masses f)).
Proof.
move=> w; rewrite (sum_of R (n := n)) // (bigD1 (Ordinal (n_gt0 w))) //=.
apply: ltr_paddr; last exact: (masses_gt0 w (Ordinal (n_gt0 w))).
by apply: sumr_ge0 => x _; apply/ltW/(masses_gt0 w).
Qed.

(** The prior of the file is a distribution without zeros, and the weights are one of reports for each answer. *)
Theorem file_distributions : well_formed f ->
  distribution file_prior /\ (forall x, 0 < file_prior x) /\ kernel mechanism.
Proof.
move/well_formed_facts=> w; have t0 := masses_sum w.
have p0 x : 0 < file_prior x by rewrite divr_gt0 // (masses_gt0 w).
split; first by split=> [x |]; [exact: ltW | rewrite -mulr_suml -(sum_of R) // divff // gt_eqF].
split=> // x; have := whole_gt0; rewrite /mechanism -(rows_whole w x); set W := z2r _ => W0.
split=> [y |]; first by rewrite divr_ge0 ?(weight_ge0 w) // ltW.
rewrite -mulr_suml; suff -> : \sum_y weight x y = W by rewrite divff // gt_eqF.
rewrite /W /weight {W W0}.
have fit : all (fits n) (columns f).
  by apply/(all_nthP [::]) => i im; apply: (columns_fit w (Ordinal im)).
rewrite -(big_mkord xpredT (fun y => z2r (nth 0%Z (nth [::] (columns f) y) x))) -(big_nth [::] xpredT (fun c => z2r (nth 0%Z c x))).
elim: (columns f) fit => [| col c IH] /=; first by rewrite big_nil nth_nseq if_same.
case/andP=> /andP [/Nat.eqb_eq sc _] fit; rewrite big_cons IH // -z2rD (nth_map (0%Z, 0%Z)); last first.
  by rewrite size_zip sc row_sums_size // minnn.
by rewrite nth_zip // sc row_sums_size.
Qed.

(** The checker says yes if and only if the numbers are well formed, and every report keeps the factor c = a / 2^k
    under the prior and, if there is a set, under every prior of the widened set. *)
Theorem check_exact :
  check f <-> well_formed f /\ let (a, k) := exp_below (level f) (power f) in
    let c := z2r a / z2r (2 ^ k) in
    forall y, keeps c file_prior weight y /\
      if set_bounds f is Some b then keeps_all weight c (widened (file_set b)) y else True.
Proof.
rewrite /check; case wf: (well_formed f) => /=; last by split=> [// | []].
have w := well_formed_facts wf; have := exp_below_level R (level_ge0 w) (power_ge0 w).
case: (exp_below (level f) (power f)) => a k [k0 _ _].
have one (y : 'I_m) : prior_keeps a k (masses f) (nth [::] (columns f) y) <->
    keeps (z2r a / z2r (2 ^ k)) file_prior weight y.
  rewrite (prior_keeps_of (R := R) a (n_gt0 w) k0 (masses_fit w) (columns_fit w y) (masses_sum w)).
  split=> [h x _ | h x]; first exact: h.
  by apply: h; have [_ [p0 _]] := file_distributions wf.
have two b (y : 'I_m) : set_bounds f = Some b ->
    set_keeps a k (denominator f) b (nth [::] (columns f) y) <->
    keeps_all weight (z2r a / z2r (2 ^ k)) (widened (file_set b)) y.
  move=> e; have [fc fl fu _ s0] := set_fits w e.
  exact: (set_keeps_of R a (n_gt0 w) k0 (unit_gt0 w) s0 fc fl fu (columns_fit w y)).
split=> [/(all_nthP [::]) h | [_ h]].
  split=> // y; have /andP [h1 h2] := h y (ltn_ord y); split; first exact/one.
  by move: h2 (two ^~ y); case: (set_bounds f) => // b h2 /(_ b (erefl _)) [t _]; apply: t.
apply/(all_nthP [::]) => i im; have [h1 h2] := h (Ordinal im); apply/andP; split; first exact/(one (Ordinal im)).
by move: h2 (two ^~ (Ordinal im)); case: (set_bounds f) => // b h2 /(_ b (erefl _)) [_ t]; apply: t.
Qed.

Lemma keeps_more c e (pi : 'I_n -> R) y : (forall x, 0 <= pi x) -> (forall x y, 0 <= weight x y) -> c <= e ->
  keeps c pi weight y -> keeps e pi weight y.
Proof.
move=> p0 w0 ce k x px; apply: le_trans (k x px) _; apply: ler_wpmul2r => //.
by apply: sumr_ge0 => x' _; apply: mulr_ge0.
Qed.

(** If the checker says yes, then no report leaks more than the file's epsilon: under its prior, ... *)
Theorem check_prior e : check f -> above_exp epsilon e -> forall y, keeps e file_prior weight y.
Proof.
move=> /check_exact [wf h] ab y; have w := well_formed_facts wf.
have := exp_below_exp (level_ge0 w) (power_ge0 w) ab; case: (exp_below _ _) h => a k h ae.
have [k1 _] := h y; apply: keeps_more ae k1; last exact: weight_ge0.
by move=> x; have [_ [p0 _]] := file_distributions wf; apply/ltW.
Qed.

(** ... and under every prior of its set. *)
Theorem check_set b e pi : check f -> above_exp epsilon e -> set_bounds f = Some b -> member (file_set b) pi ->
  forall y, keeps e pi weight y.
Proof.
move=> /check_exact [wf h] ab eb mpi y; have w := well_formed_facts wf; have w0 := weight_ge0 w.
have [fc fl _ r0 s0] := set_fits w eb.
have U : 0 < z2r (denominator f) by rewrite (z2r_lt R 0); apply/Z.ltb_lt/(unit_gt0 w).
have over s i : fits n s -> 0 <= z2r (nth 0%Z s i) / z2r (denominator f).
  by move=> fs; rewrite divr_ge0 ?(ltW U) //; have [_ z] := fits_of R fs; apply: z.
have t0 : 0 < \sum_x center (file_set b) x.
  rewrite /= -mulr_suml divr_gt0 // -(sum_of R); last by have [] := fits_of R fc.
  by rewrite (z2r_lt R 0); apply/Z.ltb_lt.
have pw : proper (widened (file_set b)).
  by apply: widened_proper => // [x | x |] /=; rewrite ?over // divr_ge0 ?(ltW U) // z2r_ge0; apply/Z.leb_le.
have := exp_below_exp (level_ge0 w) (power_ge0 w) ab; have := exp_below_level R (level_ge0 w) (power_ge0 w).
case: (exp_below _ _) h => a k h [k0 a0 _] ae.
have c0 : 0 <= z2r a / z2r (2 ^ k) by rewrite divr_ge0 ?(ltW (z2r_pow2_gt0 R k0)) // z2r_ge0; apply/Z.leb_le.
have [_] := h y; rewrite eb => ka.
have fc0 x : 0 <= center (file_set b) x by apply: over.
have wmpi := widened_holds fc0 t0 mpi.
apply: keeps_more w0 ae (set_certificate pw c0 ka wmpi); by have [[]] := mpi.
Qed.

(** So the promise holds for what is drawn: rows of probabilities weight / 2^62. *)
Corollary check_promise e pi y (U : finType) (g : 'I_n -> U -> R) :
  check f -> above_exp epsilon e ->
  (pi = file_prior \/ exists2 b, set_bounds f = Some b & member (file_set b) pi) ->
  0 < mass pi mechanism y -> (forall x u, 0 <= g x u) ->
  best (expected (posterior pi mechanism y) g) <= e * best (expected pi g).
Proof.
move=> cf ab which m0 g0; have [wf _] := proj1 check_exact cf.
have [dp [_ km]] := file_distributions wf; have W := whole_gt0.
have [dpi k] : distribution pi /\ keeps e pi weight y.
  case: which => [-> | [b eb mpi]]; first by split=> //; apply: check_prior.
  by split; [have [] := mpi | exact: (check_set cf ab eb mpi y)].
have P0 x y' : 0 <= mechanism x y' by have [] := km x.
apply: (promise dpi P0 m0) => // x px.
have -> : mass pi mechanism y = mass pi weight y / z2r whole.
  by rewrite /mass mulr_suml; apply: eq_bigr => x' _; rewrite /mechanism mulrA.
by rewrite mulrA; apply: ler_wpmul2r; [rewrite invr_ge0; apply: ltW | apply: k].
Qed.
End Verdict.
