(** * How many reports are enough: Theorem 1, that there is an optimum, and prices that prove it

    Columns that depend on one another can be reweighted until one of them is gone, which lowers no utility. So no more
    are needed than there are answers. Weights of independent columns follow from their set; sets are finitely many,
    so one of them is best. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum matrix mxalgebra.
From Extremal Require Import algebra promise optimum.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Weights on columns, of which no more are needed than columns can be independent *)
Section Weights.
Variable R : realFieldType.
Variables X Y : finType.
Variable P : X -> Y -> R.
Implicit Types (t s d : Y -> R) (S : {set Y}).

(** The columns of a set of reports, one in each row. *)
Definition columns S : 'M[R]_(#|S|, #|X|) := \matrix_(i, j) P (enum_val j) (enum_val i).

(** Weights of the rows of this matrix, as weights of all reports. *)
Definition spread S (v : 'rV[R]_#|S|) y := \sum_(i | enum_val i == y) v ord0 i.

Lemma spread_at S v (i : 'I_#|S|) : spread v (enum_val i) = v ord0 i.
Proof. by rewrite /spread (big_pred1 i) // => k; rewrite /= (inj_eq enum_val_inj). Qed.

Lemma spread_off S (v : 'rV[R]_#|S|) y : y \notin S -> spread v y = 0.
Proof. by move=> yS; apply: big1 => i /eqP e; case/negP: yS; rewrite -e enum_valP. Qed.

Lemma spread_sum S (v : 'rV[R]_#|S|) (f : Y -> R) : \sum_y spread v y * f y = \sum_i v ord0 i * f (enum_val i).
Proof.
rewrite (partition_big (fun i : 'I_#|S| => enum_val i) xpredT) //=; apply: eq_bigr => y _.
by rewrite mulr_suml; apply: eq_bigr => i /eqP ->.
Qed.

Lemma spread_mul S v x : \sum_y spread v y * P x y = (v *m columns S) ord0 (enum_rank x).
Proof. by rewrite spread_sum mxE; apply: eq_bigr => i _; rewrite mxE enum_rankK. Qed.

Definition support t := [set y | t y != 0].

Lemma dependent S : ~~ row_free (columns S) ->
  exists d, [/\ forall y, y \notin S -> d y = 0, forall x, \sum_y d y * P x y = 0 & exists y, d y != 0].
Proof.
rewrite -kermx_eq0 => /rowV0Pn [v /sub_kermxP vA v0]; exists (spread v); split=> [y | x |].
- exact: spread_off.
- by rewrite spread_mul vA mxE.
have [i vi] : exists i, v ord0 i != 0.
  apply/existsP; apply: contraNT v0; rewrite negb_exists => /forallP none.
  by apply/eqP/rowP => i; rewrite mxE; apply/eqP; rewrite -[_ == _]negbK.
by exists (enum_val i); rewrite spread_at.
Qed.

Hypothesis P0 : forall x y, 0 <= P x y.
Variable value : Y -> R.

(** One report less: the perturbation in the proof of Theorem 1. *)
Lemma one_less t : (forall y, 0 <= t y) -> (forall y, t y != 0 -> exists x, P x y != 0) ->
  ~~ row_free (columns (support t)) ->
  exists s, [/\ forall y, 0 <= s y, support s \proper support t,
    forall x, \sum_y s y * P x y = \sum_y t y * P x y & \sum_y t y * value y <= \sum_y s y * value y].
Proof.
move=> t0 full /dependent [d' [d'S d'P [z' d'z]]].
have [d [dS dP [z dz] dv]] : exists d, [/\ forall y, t y = 0 -> d y = 0, forall x, \sum_y d y * P x y = 0,
    exists y, d y != 0 & 0 <= \sum_y d y * value y].
  have off y : t y = 0 -> d' y = 0 by move=> ty; apply: d'S; rewrite inE ty eqxx.
  case: (leP 0 (\sum_y d' y * value y)) => dv; first by exists d'; split=> //; exists z'.
  exists (fun y => - d' y); split=> [y /off -> | x | |]; first exact: oppr0.
  - by under eq_bigr do rewrite mulNr; rewrite sumrN d'P oppr0.
  - by exists z'; rewrite oppr_eq0.
  by under eq_bigr do rewrite mulNr; rewrite sumrN oppr_ge0 ltW.
have [n dn] : exists n, d n < 0.
  apply/existsP; apply: contraNT dz; rewrite negb_exists => /forallP none.
  have d0 y : 0 <= d y by rewrite leNgt none.
  case: (eqVneq (t z) 0) => [/dS -> // | /full [x px]].
  have /eqP := dP x; rewrite psumr_eq0 => [/allP /(_ z) | y _]; last exact: mulr_ge0.
  by rewrite mem_index_enum mulf_eq0 (negbTE px) orbF => /(_ isT).
have [m dm least] := @Order.TotalTheory.arg_minP _ _ _ n (fun y => d y < 0) (fun y => t y / - d y) dn.
pose a := t m / - d m; have a0 : 0 <= a by rewrite divr_ge0 // oppr_ge0 ltW.
have am : t m + a * d m = 0 by rewrite /a invrN mulrN mulNr divfK ?subrr // lt_eqF.
exists (fun y => t y + a * d y); split=> [y | | x |].
- case: (leP 0 (d y)) => dy; first by rewrite addr_ge0 // mulr_ge0.
  have := least y dy; rewrite -/a ler_pdivl_mulr ?oppr_gt0 // mulrN.
  by rewrite -subr_ge0 opprK.
- apply/properP; split; first by apply/subsetP => y; rewrite !inE; apply: contra => /eqP ty; rewrite ty (dS y ty) mulr0 addr0.
  exists m; rewrite inE ?am ?eqxx //; apply/eqP => /dS e; by rewrite e ltxx in dm.
- under eq_bigr do rewrite mulrDl -mulrA.
  by rewrite big_split /= -mulr_sumr dP mulr0 addr0.
under [X in _ <= X]eq_bigr do rewrite mulrDl -mulrA.
by rewrite big_split /= -mulr_sumr ler_addl mulr_ge0.
Qed.

Lemma independent t : (forall y, 0 <= t y) -> (forall y, t y != 0 -> exists x, P x y != 0) ->
  exists s, [/\ forall y, 0 <= s y, support s \subset support t,
    forall x, \sum_y s y * P x y = \sum_y t y * P x y, \sum_y t y * value y <= \sum_y s y * value y &
    row_free (columns (support s))].
Proof.
have [n] := ubnP #|support t|; elim: n t => // n IH t; rewrite ltnS => few t0 full.
case free : (row_free (columns (support t))); first by exists t.
have [s [s0 sub sP sv]] := one_less t0 full (negbT free).
have [y | r [r0 rsub rP rv rfree]] := IH s (leq_trans (proper_card sub) few) s0.
  by move=> sy; apply: full; move/proper_sub/subsetP/(_ y): sub; rewrite !inE sy => /(_ isT).
exists r; split=> // [| x |]; first exact: subset_trans rsub (proper_sub sub).
  by rewrite rP sP.
exact: le_trans rv.
Qed.

(** Independent columns mix to a vector in one way only, so it can be computed from their set. *)
Definition solved S (b : X -> R) := spread ((\row_j b (enum_val j)) *m pinvmx (columns S)).

Lemma solvedE t (b : X -> R) : row_free (columns (support t)) -> (forall x, \sum_y t y * P x y = b x) ->
  t =1 solved (support t) b.
Proof.
move=> free tb y; pose v := (\row_i t (enum_val i)) : 'rV[R]_#|support t|.
have e z : t z = spread v z.
  case zS : (z \in support t); last by rewrite spread_off ?zS //; move/negbT: zS; rewrite inE negbK => /eqP.
  by rewrite -(enum_rankK_in zS zS) spread_at mxE.
rewrite e /solved; congr (spread _ y); rewrite -[LHS](mulmxKp free); congr (_ *m _).
apply/rowP => j; rewrite [RHS]mxE -tb -{1}[j]enum_valK -spread_mul.
by apply: eq_bigr => z _; rewrite -e.
Qed.
End Weights.

(** ** Inequalities have a solution, or a mixture of them says that 0 is positive

    By elimination of one unknown after another. *)
Section Alternative.
Variable R : realFieldType.
Variable X : finType.
Add Field field : (field_facts R).

Lemma alternative (D : seq X) (I : finType) (a : I -> X -> R) (b : I -> R) : uniq D ->
  (exists y : X -> R, forall i, b i <= \sum_(x <- D) a i x * y x) \/
  (exists r : I -> R, [/\ forall i, 0 <= r i, forall x, x \in D -> \sum_i r i * a i x = 0 & 0 < \sum_i r i * b i]).
Proof.
elim: D I a b => [| z D IH] I a b.
  move=> _; case: (pickP (fun i => 0 < b i)) => [i bi | none].
    right; exists (fun k => (k == i)%:R); split=> // [k |]; first by rewrite ler0n.
    by rewrite (bigD1 i) //= eqxx mul1r big1 ?addr0 // => k /negbTE ->; rewrite mul0r.
  by left; exists (fun=> 0) => i; rewrite big_nil leNgt none.
case/andP=> zD uD; pose s i := a i z.
(* Mixtures in which the unknown of z does not occur. *)
pose mix (k : I * I) i : R :=
  if (0 < s k.1) && (s k.2 < 0) then (i == k.1)%:R * - s k.2 + (i == k.2)%:R * s k.1
  else if s k.1 == 0 then (i == k.1)%:R else 0.
have one (f : I -> R) k : \sum_i (i == k)%:R * f i = f k.
  by rewrite (bigD1 k) //= eqxx mul1r big1 ?addr0 // => i /negbTE ->; rewrite mul0r.
have mixed (f : I -> R) k : \sum_i mix k i * f i =
    if (0 < s k.1) && (s k.2 < 0) then - s k.2 * f k.1 + s k.1 * f k.2 else if s k.1 == 0 then f k.1 else 0.
  rewrite /mix; case: ifP => _.
    under eq_bigr do rewrite mulrDl -!mulrA; rewrite big_split /=.
    by rewrite (one (fun i => - s k.2 * f i)) (one (fun i => s k.1 * f i)).
  by case: ifP => _; rewrite ?one // big1 // => i _; rewrite mul0r.
have mix0 k i : 0 <= mix k i.
  rewrite /mix; case: ifP => [/andP [p q] | _]; last by case: ifP; rewrite ?ler0n.
  by rewrite addr_ge0 // mulr_ge0 ?ler0n ?oppr_ge0 // ltW.
case: (IH _ (fun k x => \sum_i mix k i * a i x) (fun k => \sum_i mix k i * b i) uD) => [[y sol] | [r [r0 ra rb]]]; last first.
  right; exists (fun i => \sum_k r k * mix k i).
  have all f : \sum_i (\sum_k r k * mix k i) * f i = \sum_k r k * \sum_i mix k i * f i.
    under eq_bigr do rewrite mulr_suml; rewrite exchange_big; apply: eq_bigr => k _.
    by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite mulrA.
  split=> [i | x | ]; [by apply: sumr_ge0 => k _; apply: mulr_ge0 | | by rewrite all].
  rewrite all in_cons => /predU1P [-> | /ra //]; apply: big1 => k _; rewrite (mixed s).
  case: ifP => _; first by rewrite mulNr [s k.1 * _]mulrC addNr mulr0.
  by case: ifP => [/eqP -> | _]; rewrite mulr0.
left; pose A i := \sum_(x <- D) a i x * y x; pose need i := (b i - A i) / s i.
have sol' k : (\sum_i mix k i * b i) <= \sum_i mix k i * A i.
  apply: le_trans (sol k) _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
  under eq_bigr do rewrite mulr_suml; rewrite exchange_big /=; apply: eq_bigr => i _.
  by rewrite mulr_sumr; apply: eq_bigr => x _; rewrite mulrA.
have level i : s i = 0 -> b i <= A i.
  by move=> si; have := sol' (i, i); rewrite !mixed /= si ltxx eqxx.
have between p q : 0 < s p -> s q < 0 -> need p <= need q.
  move=> sp sq; have := sol' (p, q); rewrite !mixed /= sp sq /=.
  rewrite /need ler_pdivr_mulr // mulrAC ler_ndivl_mulr // => h.
  rewrite -subr_ge0; move: h; rewrite -subr_ge0 => h; apply: le_trans h _.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; rings R.
have [t tP] : exists t, forall i, (0 < s i -> need i <= t) /\ (s i < 0 -> t <= need i).
  case: (pickP (fun i => 0 < s i)) => [p sp | noP].
    have [m sm most] := @Order.TotalTheory.arg_maxP _ _ _ p (fun i => 0 < s i) need sp.
    by exists (need m) => i; split=> [/most | ] //; apply: between.
  case: (pickP (fun i => s i < 0)) => [q sq | noQ].
    have [m sm least] := @Order.TotalTheory.arg_minP _ _ _ q (fun i => s i < 0) need sq.
    by exists (need m) => i; split=> [| /least] //; rewrite noP.
  by exists 0 => i; rewrite noP noQ.
exists (fun x => if x == z then t else y x) => i; rewrite big_cons eqxx.
have -> : \sum_(x <- D) a i x * (if x == z then t else y x) = A i.
  by apply: eq_big_seq => x xD; case: eqP => // e; rewrite -e xD in zD.
have [up down] := tP i; rewrite -/(s i) -ler_subl_addr.
case: (ltrgtP (s i) 0) => [neg | pos | zero].
- by have := down neg; rewrite /need ler_ndivl_mulr // mulrC.
- by have := up pos; rewrite /need ler_pdivr_mulr // mulrC.
by rewrite zero mul0r subr_le0 level.
Qed.
End Alternative.

(** ** Mechanisms *)
Section Reports.
Variable R : realFieldType.
Variable X : finType.
Variables (pi : X -> R) (c : R).
Hypothesis prior : distribution pi.
Variable mu : (X -> R) -> R.
Hypothesis sub : sublinear mu.

Let mu_none f : (forall x, f x = 0) -> mu f = 0.
Proof. by move=> f0; rewrite -(mu_zero sub); apply: (sub_eq sub). Qed.

(** A mechanism of which at most N columns are not 0 is one with N reports. *)
Lemma renamed (Y : finType) (P : X -> Y -> R) (S : {set Y}) : (#|S| <= #|X|)%N ->
  (forall x y, y \notin S -> P x y = 0) -> allowed c pi P ->
  exists2 Q : X -> X -> R, allowed c pi Q & utility mu Q = utility mu P.
Proof.
move=> few off [kP keep]; pose g (i : 'I_#|S|) : X := enum_val (widen_ord few i).
have g_inj : injective g by move=> i j /enum_val_inj /(congr1 val) /= e; apply: val_inj.
have over (F : Y -> R) : (forall y, y \notin S -> F y = 0) -> \sum_x' \sum_(i | g i == x') F (enum_val i) = \sum_y F y.
  move=> F0; have /= <- := partition_big g xpredT (P := xpredT) (F := fun i => F (enum_val i)) (fun _ _ => isT).
  by rewrite -big_enum_val [RHS](bigID (mem S)) /= [X in _ + X]big1 ?addr0 // => y /F0.
pose Q x x' := \sum_(i | g i == x') P x (enum_val i); exists Q.
  split=> [x | x' x px].
    have [p0 p1] := kP x; split=> [x' |]; first by apply: sumr_ge0.
    by rewrite /Q (over (P x)) // => y; apply: off.
  have -> : mass pi Q x' = \sum_(i | g i == x') mass pi P (enum_val i).
    by rewrite /mass exchange_big; apply: eq_bigr => z _; rewrite mulr_sumr.
  by rewrite mulr_sumr; apply: ler_sum => i _; apply: keep.
rewrite /utility -(over (fun y => mu (fun x => P x y))) => [| y yS]; last by apply: mu_none => x; apply: off.
apply: eq_bigr => x' _; case: (pickP (fun i => g i == x')) => [i /eqP gi | none].
  have one k : (g k == x') = (k == i) by rewrite -gi (inj_eq g_inj).
  by rewrite (big_pred1 i) //; apply: (sub_eq sub) => x; rewrite /Q (big_pred1 i).
by rewrite [RHS]big_pred0 //; apply: mu_none => x; rewrite /Q big_pred0.
Qed.

(** *** Theorem 1: as many reports as answers are enough, at every prior, also one with zeros *)
Theorem cardinality (Y : finType) (P : X -> Y -> R) : allowed c pi P ->
  exists2 Q : X -> X -> R, allowed c pi Q & utility mu P <= utility mu Q.
Proof.
case=> kP keep; have P0 x y : 0 <= P x y by case: (kP x).
pose t y : R := [exists x, P x y != 0]%:R.
have t0 y : 0 <= t y by rewrite ler0n.
have full y : t y != 0 -> exists x, P x y != 0 by rewrite pnatr_eq0 eqb0 negbK => /existsP.
have tP x y : t y * P x y = P x y.
  rewrite /t; case: existsP => [_ | none]; first by rewrite mul1r.
  by rewrite mul0r; case: (eqVneq (P x y) 0) => [-> // | pxy]; case: none; exists x.
pose value y := mu (fun x => P x y).
have [s [s0 _ sP sv free]] := independent P0 value t0 full.
have few : (#|support s| <= #|X|)%N by rewrite -(eqP free) rank_leq_col.
have scaled y : mu (fun x => s y * P x y) = s y * value y by rewrite (sub_scale sub).
have aP : allowed c pi (fun x y => s y * P x y).
  split=> [x | y x px].
    split=> [y |]; first by rewrite mulr_ge0.
    by rewrite sP; under eq_bigr do rewrite tP; case: (kP x).
  rewrite (_ : mass _ _ y = s y * mass pi P y); last by rewrite /mass mulr_sumr; apply: eq_bigr => z _; rewrite mulrCA.
  by rewrite mulrCA; apply: ler_wpmul2l => //; apply: keep.
have off x y : y \notin support s -> s y * P x y = 0 by rewrite inE negbK => /eqP ->; rewrite mul0r.
have [Q aQ uQ] := renamed few off aP; exists Q => //; rewrite uQ.
have -> : utility mu P = \sum_y t y * value y.
  apply: eq_bigr => y _; rewrite /t; case: existsP => [_ | none]; first by rewrite mul1r.
  rewrite mul0r; apply: mu_none => x; case: (eqVneq (P x y) 0) => // pxy; by case: none; exists x.
by apply: le_trans sv _; rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_bigr => y _.
Qed.

Hypothesis positive : forall x, 0 < pi x.
Hypothesis c1 : 1 <= c.

(** *** The linear program of Theorem 5 has an optimal point *)
Theorem lp_optimum : exists2 rho, feasible pi c rho &
  forall rho', feasible pi c rho' -> lp_value pi c mu rho' <= lp_value pi c mu rho.
Proof.
pose V x i := vertex c pi i x; pose value i := mu (vertex c pi i).
pose known (i : {set X} * X) := listed c pi i.
have V0 i x : known i -> 0 <= V x i by case/(listed_admissible positive c1) => h _; have /andP [] := h x.
(* The columns of other pairs are replaced by 0, so that no entry is negative. *)
pose W x i := if known i then V x i else 0.
have W0 x i : 0 <= W x i by rewrite /W; case: ifP => // /V0.
have full i : known i -> exists x, W x i != 0.
  move=> li; have [_ v1] := listed_admissible positive c1 li.
  apply/existsP; apply: contraT; rewrite negb_exists => /forallP none.
  suff : (1 : R) = 0 by move/eqP; rewrite oner_eq0.
  rewrite -v1; apply: big1 => x _; have := none x.
  by rewrite /W li negbK => /eqP e; rewrite -/(V x i) e mulr0.
pose good (rho : {set X} * X -> R) :=
  [&& [forall i, 0 <= rho i], [forall i, (rho i != 0) ==> known i] & [forall x, \sum_i rho i * W x i == 1]].
have goodP rho : reflect (feasible pi c rho) (good rho).
  have e x : (forall i, rho i != 0 -> known i) -> \sum_i rho i * W x i = \sum_i rho i * vertex c pi i x.
    move=> rl; apply: eq_bigr => i _; rewrite /W; case li : (known i) => //.
    by case: (eqVneq (rho i) 0) => [-> | /rl]; rewrite ?mul0r ?li.
  apply: (iffP and3P) => [[/forallP r0 /forallP rl /forallP r1] | [r0 rl r1]].
    have rl' i : rho i != 0 -> known i by apply/implyP.
    by split=> // x; rewrite -e //; apply/eqP.
  by split; apply/forallP => i //; [apply/implyP/rl | rewrite e // r1].
pose best_of S := solved W S (fun=> 1).
have better rho : feasible pi c rho -> exists2 S, good (best_of S) & lp_value pi c mu rho <= lp_value pi c mu (best_of S).
  case=> r0 rl r1.
  have [i ri | s [s0 ss sP sv free]] := independent W0 value r0 (t := rho); first exact/full/rl.
  have sr i : s i != 0 -> rho i != 0 by move=> si; move/subsetP: ss => /(_ i); rewrite !inE; apply.
  have sl i : s i != 0 -> known i by move=> /sr /rl.
  have eW (r : {set X} * X -> R) x : (forall i, r i != 0 -> known i) -> \sum_i r i * W x i = \sum_i r i * vertex c pi i x.
    move=> h; apply: eq_bigr => i _; rewrite /W; case li : (known i) => //.
    by case: (eqVneq (r i) 0) => [-> | /h]; rewrite ?mul0r ?li.
  have s1 x : \sum_i s i * W x i = 1 by rewrite sP eW.
  have e := solvedE free s1.
  exists (support s); last first.
    apply: le_trans sv _; rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_bigr => i _.
    by rewrite /best_of -e.
  apply/and3P; split; apply/forallP => i; rewrite /best_of -?e //; first by apply/implyP/sl.
  by under eq_bigr do rewrite -e; rewrite s1.
have [rho0 f0] : exists rho, feasible pi c rho.
  have aP : allowed c pi (fun x (_ : unit) => 1).
    split=> [x | y x _]; first by split=> [y |]; rewrite ?ler01 // (big_pred1 tt) //; case.
    by rewrite /mass; under eq_bigr do rewrite mulr1; have [_ ->] := prior; rewrite mulr1.
  by have [rho f _] := lp_bounds prior positive c1 sub aP; exists rho.
have [S0 g0 _] := better _ f0.
have [S gS most] := @Order.TotalTheory.arg_maxP _ _ _ S0 (fun S => good (best_of S)) (fun S => lp_value pi c mu (best_of S)) g0.
exists (best_of S) => [| rho' /better [S' g' le]]; first exact/goodP.
exact: le_trans le (most _ g').
Qed.

(** *** So there is an optimal mechanism, with as many reports as answers *)
Theorem optimum_exists : exists Q : X -> X -> R, optimal c pi mu Q.
Proof.
have [rho f most] := lp_optimum; have [aP uP] := lp_attained positive c1 sub f.
have [Q aQ le] := cardinality aP; exists Q; split=> // Z Q' aQ'.
apply: le_trans le; rewrite uP.
have [rho' f' le'] := lp_bounds prior positive c1 sub aQ'.
exact: le_trans le' (most _ f').
Qed.
(** *** Strong duality of Theorem 5: some prices that outweigh every vertex sum to the optimum *)
Theorem strong_duality (Y : finType) (P : X -> Y -> R) : optimal c pi mu P ->
  exists price : X -> R,
    (forall i, listed c pi i -> mu (vertex c pi i) <= \sum_x price x * vertex c pi i x) /\
    \sum_x price x = utility mu P.
Proof.
case=> aP best_of; pose I := option ({set X} * X)%type; pose U := utility mu P.
pose a (i : I) x : R := if i is Some i' then (if listed c pi i' then vertex c pi i' x else 0) else -1.
pose b (i : I) : R := if i is Some i' then (if listed c pi i' then mu (vertex c pi i') else 0) else - U.
have v0 i x : listed c pi i -> 0 <= vertex c pi i x.
  by case/(listed_admissible positive c1) => h _; have /andP [] := h x.
case: (alternative a b (index_enum_uniq X)) => [[y sol] | [r [r0 ra rb]]].
  have dual i : listed c pi i -> mu (vertex c pi i) <= \sum_x y x * vertex c pi i x.
    by move=> li; have := sol (Some i); rewrite /a /b li; under eq_bigr do rewrite mulrC.
  exists y; split=> //; apply/le_anti/andP; split; last exact: (weak_duality prior positive c1 sub aP).
  by have := sol None; rewrite /a /b; under eq_bigr do rewrite mulN1r; rewrite sumrN ler_opp2.
pose rho i := if listed c pi i then r (Some i) else 0.
have split_sum (f : I -> R) : \sum_i f i = f None + \sum_i f (Some i).
  rewrite (bigD1 None) //=; congr (_ + _); rewrite (reindex_omap Some id) //= => [|[]//].
  by apply: eq_bigl => i; rewrite eqxx.
have rv x : \sum_i rho i * vertex c pi i x = r None.
  have := ra x (mem_index_enum x); rewrite split_sum /a mulrN1 => /eqP; rewrite addrC subr_eq0 => /eqP <-.
  by apply: eq_bigr => i _; rewrite /rho; case: ifP; rewrite ?mul0r ?mulr0.
have value : r None * U < \sum_i rho i * mu (vertex c pi i).
  move: rb; rewrite split_sum /b mulrN addrC subr_gt0; congr (_ < _).
  by apply: eq_bigr => i _; rewrite /rho; case: ifP; rewrite ?mul0r ?mulr0.
have rho0 i : 0 <= rho i by rewrite /rho; case: ifP.
have rl i : rho i != 0 -> listed c pi i by rewrite /rho; case: ifP => //; rewrite eqxx.
have := r0 None; rewrite le_eqVlt => /predU1P [z | pos].
  have none i : rho i = 0.
    apply/eqP/negPn/negP => ri; have li := rl i ri; have [_ v1] := listed_admissible positive c1 li.
    have : \sum_x pi x * vertex c pi i x = 0.
      apply: big1 => x _; have /eqP := rv x; rewrite -z psumr_eq0 => [/allP /(_ i) | k _].
        by rewrite mem_index_enum mulf_eq0 (negbTE ri) => /(_ isT) /eqP ->; rewrite mulr0.
      by case: (eqVneq (rho k) 0) => [-> | /rl lk]; rewrite ?mul0r // mulr_ge0 ?v0.
    by rewrite v1 => /eqP; rewrite oner_eq0.
  by move: value; rewrite -z mul0r big1 ?ltxx // => i _; rewrite none mul0r.
pose best i := rho i / r None.
have f : feasible pi c best.
  split=> [i | i | x]; first by rewrite divr_ge0 // ltW.
    by rewrite mulf_eq0 negb_or => /andP [/rl].
  under eq_bigr do rewrite mulrAC; rewrite -mulr_suml rv divff //; exact: lt0r_neq0.
have [aQ uQ] := lp_attained positive c1 sub f; have := best_of _ _ aQ.
rewrite uQ leNgt /lp_value => /negP []; rewrite -/U.
under eq_bigr do rewrite mulrAC; rewrite -mulr_suml ltr_pdivl_mulr // mulrC; exact: value.
Qed.
End Reports.
