(** * The optimum: vertices, duality, and the closed forms of Theorems 2, 3 and 4

    [pi] is a prior without zeros and [c] stands for e^epsilon. Utilities are sub-convex (Definition 4): the sum over
    the columns of a mechanism of a function that is positively homogeneous and sub-additive. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum zmodp perm.
From Extremal Require Import algebra promise.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Definitions.
Variable R : realFieldType.
Variable X : finType.

(** Sub-linear: see the footnote of Definition 4. The first line says that a function of a vector depends on its
    entries only. Values may be negative. *)
Record sublinear (mu : (X -> R) -> R) : Prop := Sublinear {
  sub_eq : forall f g, f =1 g -> mu f = mu g;
  sub_scale : forall a f, 0 <= a -> (forall x, 0 <= f x) -> mu (fun x => a * f x) = a * mu f;
  sub_add : forall f g, (forall x, 0 <= f x) -> (forall x, 0 <= g x) -> mu (fun x => f x + g x) <= mu f + mu g
}.

Definition utility (mu : (X -> R) -> R) (Y : finType) (P : X -> Y -> R) := \sum_y mu (fun x => P x y).

(** The mechanisms that are allowed, with any finite set of reports, and the best of them. *)
Definition allowed c (pi : X -> R) (Y : finType) (P : X -> Y -> R) := kernel P /\ forall y, keeps c pi P y.
Definition optimal c pi (mu : (X -> R) -> R) (Y : finType) (P : X -> Y -> R) :=
  allowed c pi P /\ forall (Z : finType) (Q : X -> Z -> R), allowed c pi Q -> utility mu Q <= utility mu P.

(** Lift vectors: the polytope of Theorem 5. *)
Definition admissible c (pi : X -> R) (l : X -> R) := (forall x, 0 <= l x <= c) /\ \sum_x pi x * l x = 1.

(** What Algorithm 1 adds for a set J of symbols and one of them, j: see [algorithm1_listed] ... *)
Definition vertex c (pi : X -> R) (i : {set X} * X) x :=
  if x == i.2 then (1 - c * \sum_(z in i.1 :\ i.2) pi z) / pi i.2 else if x \in i.1 then c else 0.

(** ... and when it does: lines 3, 4, 6 and 7. *)
Definition listed c (pi : X -> R) (i : {set X} * X) :=
  [&& i.2 \in i.1, c * (\sum_(z in i.1 :\ i.2) pi z) <= 1 & 1 <= c * (\sum_(z in i.1) pi z)].
End Definitions.

Section Optimum.
Variable R : realFieldType.
Variable X : finType.
Variables (pi : X -> R) (c : R).
Hypothesis prior : distribution pi.
Hypothesis positive : forall x, 0 < pi x.
Hypothesis c1 : 1 <= c.
Add Field field : (field_facts R).

Let c0 : 0 < c. Proof. exact: lt_le_trans ltr01 c1. Qed.
Let pi1 : \sum_x pi x = 1. Proof. by case: prior. Qed.
Let pi_neq0 x : pi x != 0. Proof. by rewrite gt_eqF. Qed.

(** ** Vertices *)
Theorem listed_admissible i : listed c pi i -> admissible c pi (vertex c pi i).
Proof.
case/and3P=> jJ le1 ge1; split=> [x |].
  rewrite /vertex; case: eqP => _; last by case: ifP; rewrite ?lexx ?(ltW c0).
  rewrite divr_ge0 ?subr_ge0 ?(ltW (positive _)) //= ler_pdivr_mulr // ler_subl_addl -mulrDr addrC.
  by rewrite (big_setD1 i.2) in ge1.
have e : \sum_(x | x != i.2) pi x * vertex c pi i x = c * \sum_(z in i.1 :\ i.2) pi z.
  rewrite mulr_sumr big_mkcond [RHS]big_mkcond; apply: eq_bigr => x _.
  by rewrite /vertex in_setD1; case: (x == i.2) => //=; case: ifP; rewrite ?mulr0 // mulrC.
by rewrite (bigD1 i.2) //= e /vertex eqxx mulrC divfK // subrK.
Qed.

(** It is a vertex: no mixture of two other vectors. *)
Theorem listed_vertex i a b t : listed c pi i -> admissible c pi a -> admissible c pi b -> 0 < t < 1 ->
  (forall x, vertex c pi i x = (1 - t) * a x + t * b x) -> a =1 vertex c pi i /\ b =1 vertex c pi i.
Proof.
move=> li [a01 a1] [b01 b1] /andP [t0 t1] e; have u0 : 0 < 1 - t by rewrite subr_gt0.
have off x : x != i.2 -> a x = b x.
  move=> xj; have := e x; have /andP [ax0 axc] := a01 x; have /andP [bx0 bxc] := b01 x.
  rewrite /vertex (negbTE xj); case: ifP => _ h.
    have da : 0 <= (1 - t) * (c - a x) by rewrite mulr_ge0 ?subr_ge0 // ltW.
    have db : 0 <= t * (c - b x) by rewrite mulr_ge0 ?subr_ge0 // ltW.
    have : (1 - t) * (c - a x) + t * (c - b x) = 0.
      have -> : (1 - t) * (c - a x) + t * (c - b x) = c - ((1 - t) * a x + t * b x) by rings R.
      by rewrite -h subrr.
    move/eqP; rewrite paddr_eq0 // !mulf_eq0 (gt_eqF t0) (gt_eqF u0) !subr_eq0 /=.
    by case/andP=> /eqP <- /eqP <-.
  have pa : 0 <= (1 - t) * a x by rewrite mulr_ge0 // ltW.
  have pb : 0 <= t * b x by rewrite mulr_ge0 // ltW.
  move/esym/eqP: h; rewrite paddr_eq0 // !mulf_eq0 (gt_eqF t0) (gt_eqF u0) /= => /andP [/eqP -> /eqP ->] //.
have at_j : a i.2 = b i.2.
  apply/(mulfI (pi_neq0 i.2))/(addIr (\sum_(x | x != i.2) pi x * a x)).
  rewrite -(bigD1 i.2 (P := xpredT) (F := fun x => pi x * a x)) //= a1 -b1 (bigD1 i.2) //=; congr (_ + _).
  by apply: eq_bigr => x /off ->.
have ab : a =1 b by move=> x; case: (eqVneq x i.2) => [-> | /off].
by split=> x; rewrite e; [rewrite -ab | rewrite ab]; apply: esym; rings R.
Qed.

Definition free (l : X -> R) := [set x | 0 < l x < c].

Lemma few_free l : admissible c pi l -> (#|free l| <= 1)%N -> exists2 i, listed c pi i & l =1 vertex c pi i.
Proof.
move=> [l01 l1] few; have c_gt0 := c0.
have ends x : x \notin free l -> l x = if l x == c then c else 0.
  rewrite inE; have /andP [] := l01 x; rewrite !le_eqVlt => /predU1P [<- | -> /predU1P [-> | ->]] //.
    by rewrite eq_sym gt_eqF.
  by rewrite eqxx.
have [j jfree] : exists j, (forall x, x != j -> x \notin free l) /\ 0 < l j.
  case: (set_0Vmem (free l)) => [none | [j jf]].
    have [j /andP [_ lj]] : exists j, true && (0 < l j).
      apply/existsP; apply: contraT; rewrite negb_exists => /forallP none'.
      suff : (1 : R) = 0 by move/eqP; rewrite oner_eq0.
      rewrite -l1 big1 // => x _; have := none' x; rewrite /= -leNgt => lx.
      by have /andP [x0 _] := l01 x; have -> : l x = 0; [apply/le_anti; rewrite lx x0 | rewrite mulr0].
    by exists j; split=> // x _; rewrite none inE.
  exists j; split; last by move: jf; rewrite inE => /andP [].
  move=> x xj; apply: contra xj => xf; apply/eqP.
  by move/card_le1_eqP: few; apply.
case: jfree => jfree lj; pose J := [set x | (l x == c) || (x == j)].
have jJ : j \in J by rewrite inE eqxx orbT.
have off x : x != j -> l x = if x \in J then c else 0.
  by move=> xj; rewrite inE (negbTE xj) orbF; apply/ends/jfree.
have total : pi j * l j = 1 - c * \sum_(z in J :\ j) pi z.
  have e : \sum_(x | x != j) pi x * l x = c * \sum_(z in J :\ j) pi z.
    rewrite mulr_sumr big_mkcond [RHS]big_mkcond; apply: eq_bigr => x _; rewrite in_setD1.
    by case: (eqVneq x j) => //= /off ->; case: ifP; rewrite ?mulr0 // mulrC.
  by rewrite -l1 (bigD1 j) //= e addrK.
exists (J, j) => [| x].
  rewrite /listed /= jJ /=; apply/andP; split.
    by rewrite -subr_ge0 -total mulr_ge0 // ltW.
  rewrite (big_setD1 j jJ) /= mulrDr -ler_subl_addr -total mulrC; apply: ler_wpmul2r; first exact: ltW.
  by have /andP [] := l01 j.
rewrite /vertex /=; case: eqP => [-> | /eqP]; last exact: off.
by rewrite -total mulrC mulKf.
Qed.

(** The weights of a mixture of listed vertices. *)
Definition mixes (t : {set X} * X -> R) l :=
  [/\ forall i, 0 <= t i, forall i, t i != 0 -> listed c pi i, \sum_i t i = 1 &
      forall x, l x = \sum_i t i * vertex c pi i x].

Lemma mixes_two (a b : R) s t l m : 0 <= a -> 0 <= b -> a + b = 1 -> mixes s l -> mixes t m ->
  mixes (fun i => a * s i + b * t i) (fun x => a * l x + b * m x).
Proof.
move=> a0 b0 ab [s0 sl s1 se] [t0 tl t1 te]; split=> [i | i | | x].
- by rewrite addr_ge0 // mulr_ge0.
- case: (eqVneq (s i) 0) => [-> | /sl //]; rewrite mulr0 add0r mulf_eq0 negb_or => /andP [_ /tl] //.
- by rewrite big_split /= -!mulr_sumr s1 t1 !mulr1.
by rewrite se te !mulr_sumr -big_split /=; apply: eq_bigr => i _; rings R.
Qed.

(** Every admissible lift vector is a mixture of vertices. *)
Theorem mixture_of_vertices l : admissible c pi l -> exists t, mixes t l.
Proof.
have [n] := ubnP #|free l|; elim: n l => // n IH l; rewrite ltnS => few al.
case: (leqP #|free l| 1) => [/(few_free al) [i li e] | /card_gt1P [x [y [xf yf xy]]]].
  exists (fun i' => (i' == i)%:R); split=> [i' | i' | | x]; first by rewrite ler0n.
  - by case: (eqVneq i' i) => [-> // | _]; rewrite eqxx.
  - by rewrite (bigD1 i) //= eqxx big1 ?addr0 // => i' /negbTE ->.
  by rewrite (bigD1 i) //= eqxx mul1r big1 ?addr0 // => i' /negbTE ->; rewrite mul0r.
have [l01 l1] := al; move: (xf) (yf); rewrite !inE => /andP [lx0 lxc] /andP [ly0 lyc].
pose d z := if z == x then (pi x)^-1 else if z == y then - (pi y)^-1 else 0.
have dx : d x = (pi x)^-1 by rewrite /d eqxx.
have dy : d y = - (pi y)^-1 by rewrite /d eq_sym (negbTE xy) eqxx.
have dz z : z != x -> z != y -> d z = 0 by rewrite /d => /negbTE -> /negbTE ->.
have sumd : \sum_z pi z * d z = 0.
  rewrite (bigD1 x) //= (bigD1 y) ?[y == x]eq_sym //= dx dy mulrN !divff // big1 ?addr0 ?subrr // => z /andP [zx zy].
  by rewrite dz // mulr0.
(* One step along a direction s d that empties free of x or of y. *)
have step (s : R) : (forall z, 0 <= l z + s * d z <= c) ->
    (l x + s * d x \in [:: 0; c]) || (l y + s * d y \in [:: 0; c]) ->
    exists t, mixes t (fun z => l z + s * d z).
  move=> s01 hit; apply: IH; last first.
    split=> //; under eq_bigr do rewrite mulrDr mulrCA.
    by rewrite big_split /= -mulr_sumr sumd l1 mulr0 addr0.
  apply: leq_trans few; apply: proper_card; apply/properP; split.
    apply/subsetP => z; rewrite !inE; case: (eqVneq z x) => [-> | zx]; first by rewrite lx0 lxc.
    by case: (eqVneq z y) => [-> | zy]; [rewrite ly0 lyc | rewrite dz // mulr0 addr0].
  by case/orP: hit; rewrite !inE => /orP [/eqP h | /eqP h]; [exists x | exists x | exists y | exists y] => //;
    rewrite inE h ltxx ?andbF.
pose up := Num.min (pi x * (c - l x)) (pi y * l y).
pose down := Num.min (pi x * l x) (pi y * (c - l y)).
have up0 : 0 < up by rewrite lt_minr !mulr_gt0 // subr_gt0.
have down0 : 0 < down by rewrite lt_minr !mulr_gt0 // subr_gt0.
have up_x : up / pi x <= c - l x by rewrite ler_pdivr_mulr // mulrC le_minl lexx.
have up_y : up / pi y <= l y by rewrite ler_pdivr_mulr // [l y * _]mulrC le_minl lexx orbT.
have down_x : down / pi x <= l x by rewrite ler_pdivr_mulr // [l x * _]mulrC le_minl lexx.
have down_y : down / pi y <= c - l y by rewrite ler_pdivr_mulr // mulrC le_minl lexx orbT.
have upp z : 0 <= up / pi z by rewrite divr_ge0 // ltW.
have downp z : 0 <= down / pi z by rewrite divr_ge0 // ltW.
have cancel z a : pi z * a / pi z = a by rewrite mulrC mulKf.
have [t mt] : exists t, mixes t (fun z => l z + up * d z).
  apply: step => [z |].
    case: (eqVneq z x) => [-> | zx].
      by rewrite dx addr_ge0 ?(ltW lx0) //= -ler_subr_addl.
    case: (eqVneq z y) => [-> | zy]; last by rewrite dz // mulr0 addr0.
    by rewrite dy mulrN subr_ge0 up_y ler_subl_addr (le_trans (ltW lyc)) // ler_addl.
  rewrite dx dy !inE mulrN; case: (leP (pi x * (c - l x)) (pi y * l y)) => h.
    by rewrite /up min_l // cancel [l x + _]addrC subrK eqxx orbT.
  by rewrite /up min_r ?ltW // cancel subrr eqxx orbT.
have [s ms] : exists t, mixes t (fun z => l z + - down * d z).
  apply: step => [z |].
    case: (eqVneq z x) => [-> | zx].
      by rewrite dx mulNr subr_ge0 down_x ler_subl_addr (le_trans (ltW lxc)) // ler_addl.
    case: (eqVneq z y) => [-> | zy]; last by rewrite dz // mulr0 addr0.
    by rewrite dy mulrNN addr_ge0 ?(ltW ly0) //= -ler_subr_addl.
  rewrite dx dy !inE mulrNN mulNr; case: (leP (pi x * l x) (pi y * (c - l y))) => h.
    by rewrite /down min_l // cancel subrr eqxx.
  by rewrite /down min_r ?ltW // cancel [l y + _]addrC subrK eqxx !orbT.
have ud : 0 < up + down by rewrite addr_gt0.
have ab : down / (up + down) + up / (up + down) = 1 by rewrite -mulrDl addrC divff // gt_eqF.
have [a0 b0] : 0 <= down / (up + down) /\ 0 <= up / (up + down) by rewrite !divr_ge0 // ltW.
have [m0 ml m1 me] := mixes_two a0 b0 ab mt ms.
exists (fun i => down / (up + down) * t i + up / (up + down) * s i); split=> // z; rewrite -me.
move: ud; clear => /lt0r_neq0 /eqP ud; apply: esym; fields R; exact: ud.
Qed.

(** And all vertices are listed: whatever is admissible and no mixture of two other admissible vectors. *)
Definition extreme (l : X -> R) := admissible c pi l /\
  forall a b t, admissible c pi a -> admissible c pi b -> 0 < t < 1 ->
    (forall x, l x = (1 - t) * a x + t * b x) -> a =1 l /\ b =1 l.

Theorem extreme_listed l : extreme l <-> exists2 i, listed c pi i & l =1 vertex c pi i.
Proof.
split=> [[al ex] | [i li e]]; last first.
  have [v01 v1] := listed_admissible li; split=> [| a b t aa ab t01 h].
    by split=> [x |]; [rewrite e | rewrite -[RHS]v1; apply: eq_bigr => x _; rewrite e].
  have h' x : vertex c pi i x = (1 - t) * a x + t * b x by rewrite -e.
  by have [ea eb] := listed_vertex li aa ab t01 h'; split=> x; rewrite ?ea ?eb e.
have [t [t0 tl t1 te]] := mixture_of_vertices al.
have [i ti] : exists i, 0 < t i.
  apply/existsP; apply: contraT; rewrite negb_exists => /forallP none.
  suff : (1 : R) = 0 by move/eqP; rewrite oner_eq0.
  by rewrite -t1; apply: big1 => i _; apply/le_anti; rewrite t0 andbT leNgt none.
have li : listed c pi i by apply: tl; rewrite gt_eqF.
exists i => //; pose u := \sum_(k | k != i) t k; have tu : t i + u = 1 by rewrite -t1 [RHS](bigD1 i).
have u0 : 0 <= u by apply: sumr_ge0.
pose rest x := \sum_(k | k != i) t k * vertex c pi k x.
have le x : l x = t i * vertex c pi i x + rest x by rewrite te (bigD1 i).
move: u0; rewrite le_eqVlt => /predU1P [u0 | u0] x.
  have r0 : rest x = 0.
    apply: big1 => k ki; suff -> : t k = 0 by rewrite mul0r.
    apply/le_anti; rewrite t0 andbT [X in _ <= X]u0 /u (bigD1 k) //= ler_addl; exact: sumr_ge0.
  by rewrite le r0 addr0 (_ : t i = 1) ?mul1r // -tu -u0 addr0.
have v01 k z : 0 <= t k * vertex c pi k z <= t k * c.
  case: (eqVneq (t k) 0) => [-> | /tl /listed_admissible [v _]]; first by rewrite !mul0r lexx.
  by have /andP [v0 vc] := v z; rewrite mulr_ge0 //= ler_wpmul2l.
have ar : admissible c pi (fun z => rest z / u).
  split=> [z |].
    rewrite divr_ge0 ?(ltW u0) ?sumr_ge0 //= => [| k _]; last by have /andP [] := v01 k z.
    by rewrite ler_pdivr_mulr // mulrC mulr_suml ler_sum // => k _; have /andP [] := v01 k z.
  under eq_bigr do rewrite mulrA; rewrite -mulr_suml; suff -> : \sum_z pi z * rest z = u by rewrite divff // gt_eqF.
  rewrite /rest; under eq_bigr do rewrite mulr_sumr; rewrite exchange_big; apply: eq_bigr => k _.
  case: (eqVneq (t k) 0) => [-> | /tl /listed_admissible [_ v1]].
    by rewrite big1 // => z _; rewrite mul0r mulr0.
  by under eq_bigr do rewrite mulrCA; rewrite -mulr_sumr v1 mulr1.
have t_lt1 : 0 < t i < 1 by rewrite ti -tu ltr_addl.
have mix z : l z = (1 - t i) * (rest z / u) + t i * vertex c pi i z.
  have -> : 1 - t i = u by rewrite -tu addrC addKr.
  by rewrite [u * _]mulrC divfK ?gt_eqF // addrC.
by have [_ ->] := ex _ _ _ ar (listed_admissible li) t_lt1 mix.
Qed.

(** ** Algorithm 1, line by line *)
Section Algorithm.
Local Notation vector := {ffun X -> R}.
Definition put (l : vector) x (v : R) : vector := [ffun z => if z == x then v else l z].

(** Lines 7 to 10. The vector is what the last round has left. *)
Definition round (J : {set X}) (s : vector * seq vector) (j : X) :=
  if c * (\sum_(m in J :\ j) pi m) <= 1 then
    let l := put s.1 j ((1 - c * \sum_(m in J :\ j) pi m) / pi j) in
    let l := foldl (fun l i => put l i c) l (enum (J :\ j)) in
    (l, rcons s.2 l)
  else s.

(** Lines 4 to 6: for one set of indices. *)
Definition indices (found : seq vector) (J : {set X}) :=
  if c^-1 <= \sum_(m in J) pi m then (foldl (round J) ([ffun=> 0], found) (enum J)).2 else found.

(** Lines 1 to 3, with N = #|X|. *)
Definition algorithm1 (k : nat) : seq vector :=
  foldl (fun found l => foldl indices found (enum [set J : {set X} | #|J| == #|X| - l + 1]%N)) [::] (iota 1 k).

Lemma putsE (l : vector) s z : foldl (fun l i => put l i c) l s z = if z \in s then c else l z.
Proof. by elim: s l => //= i s IH l; rewrite IH in_cons ffunE; case: (z \in s); rewrite ?orbT // orbF. Qed.

Lemma mem_foldl (T : Type) (f : seq vector -> T -> seq vector) (p : pred T) (v : vector) s found :
  (forall found a, (v \in f found a) = (v \in found) || p a) ->
  (v \in foldl f found s) = (v \in found) || has p s.
Proof. by move=> fp; elim: s found => [| a s IH] found /=; rewrite ?orbF // IH fp orbA. Qed.

Definition added (J : {set X}) (v : vector) j :=
  (c * (\sum_(m in J :\ j) pi m) <= 1) && [forall x, v x == vertex c pi (J, j) x].

Lemma rounds (J : {set X}) (v l : vector) found s : all (mem J) s -> (forall x, x \notin J -> l x = 0) ->
  (v \in (foldl (round J) (l, found) s).2) = (v \in found) || has (added J v) s.
Proof.
elim: s l found => [| j s IH] l found /=; first by rewrite orbF.
case/andP=> jJ sJ l0; rewrite {1}/added {2}/round /=; case: ifP => _ /=; last exact: IH.
set l' : vector := foldl (fun l i => put l i c) _ _; have l'E x : l' x = vertex c pi (J, j) x.
  rewrite putsE mem_enum in_setD1 ffunE /vertex /=; case: (eqVneq x j) => //= _.
  by case: ifP => // /negbT /l0.
rewrite IH // => [| x xJ]; last first.
  by rewrite l'E /vertex (negbTE xJ); case: eqP xJ => // ->; rewrite /= jJ.
rewrite mem_rcons in_cons orbA [(v \in found) || [forall x, _]]orbC; congr (_ || _ || _).
apply/eqP/forallP => [-> x | e]; first by rewrite l'E.
by apply/ffunP => x; rewrite l'E; apply/eqP.
Qed.

(** In region k any N - k answers, or fewer, have less than 1/c together. There, and in the last region, k = N, the
    algorithm finds the listed vectors and no others. *)
Theorem algorithm1_listed k (v : vector) : (k <= #|X|)%N ->
  (forall J : {set X}, (#|J| <= #|X| - k)%N -> c * (\sum_(x in J) pi x) < 1) ->
  v \in algorithm1 k <-> exists2 i, listed c pi i & v =1 vertex c pi i.
Proof.
move=> kN region.
have step (J : {set X}) found : (v \in indices found J) =
    (v \in found) || ((c^-1 <= \sum_(m in J) pi m) && has (added J v) (enum J)).
  rewrite /indices; case: ifP => _; last by rewrite orbF.
  by apply: rounds => [| x _]; [apply/allP => x; rewrite mem_enum | rewrite ffunE].
have enough J : (c^-1 <= \sum_(m in J) pi m) = (1 <= c * \sum_(m in J) pi m).
  by rewrite -[X in _ = (X <= _)](divff (_ : c != 0)) ?gt_eqF // ler_pmul2l.
rewrite /algorithm1 (mem_foldl _ _ (fun found l => mem_foldl _ found (fun found J => step J found))) /=.
split=> [/hasP [l _ /hasP [J _ /andP [ge1 /hasP [j]]]] | [[J j] li e]].
  rewrite mem_enum => jJ /andP [le1 /forallP e]; exists (J, j) => [| x]; last exact/eqP.
  by rewrite /listed /= jJ le1 -enough.
have /and3P [/= jJ le1 ge1] := li; have J0 : (0 < #|J|)%N by rewrite (cardD1 j) jJ.
have JN : (#|J| <= #|X|)%N := max_card _.
have kJ : (#|X| - k < #|J|)%N.
  by rewrite ltnNge; apply/negP => /region; rewrite ltNge ge1.
apply/hasP; exists (#|X| - #|J|).+1.
  by rewrite mem_iota ltn0Sn add1n ltnS ltn_subLR // addnC -ltn_subLR.
apply/hasP; exists J; first by rewrite mem_enum inE addn1 subnSK ?subKn // ltn_subrL J0 (leq_trans J0).
rewrite enough ge1; apply/hasP; exists j; first by rewrite mem_enum.
by rewrite /added le1; apply/forallP => x; apply/eqP.
Qed.
End Algorithm.

(** ** Utilities *)
Section Utilities.
Variable mu : (X -> R) -> R.
Hypothesis sub : sublinear mu.

Lemma mu_zero : mu (fun=> 0) = 0.
Proof.
rewrite -[RHS](mul0r (mu (fun=> 0))) -(sub_scale sub) //.
by apply: (sub_eq sub) => x; rewrite mul0r.
Qed.

Lemma mu_mix (I : finType) (t : I -> R) (v : I -> X -> R) :
  (forall i, 0 <= t i) -> (forall i x, t i != 0 -> 0 <= v i x) ->
  mu (fun x => \sum_i t i * v i x) <= \sum_i t i * mu (v i).
Proof.
move=> t0 v0; elim: (index_enum I) => [| i r IH].
  by rewrite big_nil -[X in _ <= X]mu_zero (sub_eq sub (g := fun=> 0)) // => x; rewrite big_nil.
rewrite big_cons.
have -> : mu (fun x => \sum_(j <- i :: r) t j * v j x) = mu (fun x => t i * v i x + \sum_(j <- r) t j * v j x).
  by apply: (sub_eq sub) => x; rewrite big_cons.
case: (eqVneq (t i) 0) => [ti | ti].
  rewrite ti mul0r add0r; apply: le_trans IH; rewrite le_eqVlt; apply/orP; left; apply/eqP/(sub_eq sub) => x.
  by rewrite mul0r add0r.
apply: le_trans (sub_add sub _ _) _ => [x | x |]; first by rewrite mulr_ge0 // v0.
  by apply: sumr_ge0 => j _; case: (eqVneq (t j) 0) => [-> | tj]; rewrite ?mul0r // mulr_ge0 // v0.
rewrite (sub_scale sub) // => [| x]; last exact: v0.
by rewrite ler_add2l.
Qed.

Section Mechanisms.
Variables (Y : finType) (P : X -> Y -> R).
Hypothesis P_allowed : allowed c pi P.

Let P0 x y : 0 <= P x y. Proof. by case: P_allowed => k _; case: (k x). Qed.
Let m0 y : 0 <= mass pi P y. Proof. exact: mass_ge0. Qed.

Lemma below x y : P x y <= c * mass pi P y.
Proof. by case: P_allowed => _ k; apply: k. Qed.

Lemma masses_total : \sum_y mass pi P y = 1.
Proof.
rewrite /mass exchange_big -[RHS]pi1; apply: eq_bigr => x _; rewrite -mulr_sumr.
by case: P_allowed => k _; case: (k x) => _ ->; rewrite mulr1.
Qed.

(** Each column is a sum of vertices, with weights that do not lower its utility. *)
Lemma column y : exists s : {set X} * X -> R,
  [/\ forall i, 0 <= s i, forall i, s i != 0 -> listed c pi i,
      forall x, P x y = \sum_i s i * vertex c pi i x &
      mu (fun x => P x y) <= \sum_i s i * mu (vertex c pi i)].
Proof.
have := m0 y; rewrite le_eqVlt => /predU1P [z | pos].
  have none x : P x y = 0 by apply/le_anti; rewrite P0 andbT; apply: le_trans (below x y) _; rewrite -z mulr0.
  exists (fun=> 0); split=> [i | i | x |].
  - exact: lexx.
  - by rewrite eqxx.
  - by rewrite none big1 // => i _; rewrite mul0r.
  by rewrite (sub_eq sub (g := fun=> 0)) // mu_zero big1 // => i _; rewrite mul0r.
have al : admissible c pi (fun x => P x y / mass pi P y).
  split=> [x |]; first by rewrite divr_ge0 // ler_pdivr_mulr // below.
  by under eq_bigr do rewrite mulrA; rewrite -mulr_suml divff // gt_eqF.
have [t [t0 tl t1 te]] := mixture_of_vertices al.
have e x : P x y = mass pi P y * (P x y / mass pi P y) by rewrite mulrC divfK // gt_eqF.
exists (fun i => mass pi P y * t i); split=> [i | i | x |].
- by rewrite mulr_ge0.
- by rewrite mulf_eq0 negb_or => /andP [_ /tl].
- by rewrite e te mulr_sumr; apply: eq_bigr => i _; rewrite mulrA.
rewrite (sub_eq sub e) (sub_scale sub) // => [| x]; last by rewrite divr_ge0.
under [X in _ <= X]eq_bigr do rewrite -mulrA; rewrite -mulr_sumr; apply: ler_wpmul2l => //.
rewrite (sub_eq sub te); apply: mu_mix => // i x /tl /listed_admissible [h _].
by have /andP [] := h x.
Qed.

(** *** Lemma 2: in region k, a column that is not 0 has fewer than k zeros *)
Theorem few_zeros y k : 0 < mass pi P y -> (forall J : {set X}, (#|J| <= #|X| - k)%N -> c * (\sum_(x in J) pi x) < 1) ->
  (#|[set x | P x y == 0]%R| < k)%N.
Proof.
move=> pos region; rewrite ltnNge; apply/negP => kz.
have sure : 1 <= c * \sum_(x in [set x | P x y != 0]) pi x.
  apply: (certain prior pos (fun x _ => below x y)) => x _; by rewrite inE negbK => /eqP.
have : (#|[set x | P x y != 0]%R| <= #|X| - k)%N.
  have -> : [set x | P x y != 0] = ~: [set x | P x y == 0] by apply/setP => x; rewrite !inE.
  by rewrite cardsCs setCK leq_sub2l.
by move/region; rewrite ltNge sure.
Qed.

(** *** Weak duality of Theorem 5: prices that outweigh the utility of every vertex bound every mechanism *)
Theorem weak_duality (price : X -> R) :
  (forall i, listed c pi i -> mu (vertex c pi i) <= \sum_x price x * vertex c pi i x) ->
  utility mu P <= \sum_x price x.
Proof.
move=> dual; apply: le_trans (_ : \sum_y \sum_x price x * P x y <= _).
  apply: ler_sum => y _; have [s [s0 sl se le]] := column y; apply: le_trans le _.
  apply: le_trans (_ : \sum_i s i * (\sum_x price x * vertex c pi i x) <= _).
    apply: ler_sum => i _; case: (eqVneq (s i) 0) => [-> | /sl li]; first by rewrite !mul0r.
    by apply: ler_wpmul2l => //; apply: dual.
  under eq_bigr do rewrite mulr_sumr; rewrite exchange_big /= le_eqVlt; apply/orP; left; apply/eqP.
  by apply: eq_bigr => x _; rewrite se mulr_sumr; apply: eq_bigr => i _; rewrite mulrCA.
rewrite exchange_big /= le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => x _.
by rewrite -mulr_sumr; case: P_allowed => k _; case: (k x) => _ ->; rewrite mulr1.
Qed.

(** *** Theorem 5: the linear program over the vertices is exact

    [rho] is feasible if its weights are not negative, stand on listed vertices, and mix them to (1, ..., 1). *)
Definition feasible (rho : {set X} * X -> R) :=
  [/\ forall i, 0 <= rho i, forall i, rho i != 0 -> listed c pi i & forall x, \sum_i rho i * vertex c pi i x = 1].
Definition lp_value (rho : {set X} * X -> R) := \sum_i rho i * mu (vertex c pi i).

(** No mechanism is better than all feasible points ... *)
Theorem lp_bounds : exists2 rho, feasible rho & utility mu P <= lp_value rho.
Proof.
have [s sP] := fin_all_exists column.
exists (fun i => \sum_y s y i).
  split=> [i | i | x].
  - by apply: sumr_ge0 => y _; have [s0] := sP y.
  - apply: contraR => nl; apply/eqP/big1 => y _; apply/eqP; apply: contraR nl; by have [_ sl _ _] := sP y; apply: sl.
  under eq_bigr do rewrite mulr_suml; rewrite exchange_big /=.
  case: P_allowed => k _; case: (k x) => _ <-; apply: eq_bigr => y _; by have [_ _ se _] := sP y.
rewrite /lp_value; under eq_bigr do rewrite mulr_suml; rewrite exchange_big /=.
by apply: ler_sum => y _; have [_ _ _] := sP y.
Qed.
End Mechanisms.

(** ... and each feasible point is a mechanism with this utility. *)
Theorem lp_attained rho : feasible rho ->
  let P x i := rho i * vertex c pi i x in allowed c pi P /\ utility mu P = lp_value rho.
Proof.
case=> r0 rl re P; have P0 x i : 0 <= P x i.
  rewrite /P; case: (eqVneq (rho i) 0) => [-> | /rl /listed_admissible [h _]]; first by rewrite mul0r.
  by rewrite mulr_ge0 //; have /andP [] := h x.
split; last first.
  apply: eq_bigr => i _; case: (eqVneq (rho i) 0) => [e | /rl /listed_admissible [h _]].
    by rewrite e mul0r -[RHS]mu_zero; apply: (sub_eq sub) => x; rewrite /P e mul0r.
  by apply: (sub_scale sub) => // x; have /andP [] := h x.
split=> [x | i x _]; first by split=> //; apply: re.
have -> : mass pi P i = rho i * \sum_x pi x * vertex c pi i x.
  by rewrite mulr_sumr; apply: eq_bigr => x' _; rewrite mulrCA.
rewrite /P mulrCA; case: (eqVneq (rho i) 0) => [-> | /rl /listed_admissible [h ->]]; first by rewrite !mul0r.
by rewrite mulr1; apply: ler_wpmul2l => //; have /andP [] := h x.
Qed.

(** ** Theorem 3: the high-privacy region

    c (1 - pi x) <= 1 for every x: the paper's condition asks for less than 1 on the N - 1 likeliest symbols. *)
Definition high_privacy (x y : X) : R := if x == y then 1 - c * (1 - pi x) else c * pi y.

Section HighPrivacy.
Hypothesis high : forall x, c * (1 - pi x) <= 1.

Let lifted (j x : X) := if x == j then (1 - c * (1 - pi j)) / pi j else c.

Lemma others j : \sum_(x | x != j) pi x = 1 - pi j.
Proof. by have := pi1; rewrite (bigD1 j) //= => <-; rewrite [RHS]addrC addKr. Qed.

Lemma high_mass j : mass pi high_privacy j = pi j.
Proof.
rewrite /mass (bigD1 j) //= /high_privacy eqxx (eq_bigr (fun x => pi x * (c * pi j))) => [| x /negbTE -> //].
by rewrite -mulr_suml others; rings R.
Qed.

Lemma high_allowed : allowed c pi high_privacy.
Proof.
have p0 x y : 0 <= high_privacy x y.
  by rewrite /high_privacy; case: eqP => _; [rewrite subr_ge0 | rewrite mulr_ge0 ?ltW].
split=> [x | y x _].
  split=> //; rewrite (bigD1 x) //= {1}/high_privacy eqxx (eq_bigr (fun y => c * pi y)) => [| y xy].
    by rewrite -mulr_sumr others subrK.
  by rewrite /high_privacy eq_sym (negbTE xy).
rewrite high_mass /high_privacy; case: eqP => [-> | _] //.
by rewrite mulrBr mulr1 opprB addrA [1 + _]addrC -addrA ger_addl subr_le0.
Qed.

Lemma high_utility : utility mu high_privacy = \sum_j pi j * mu (lifted j).
Proof.
apply: eq_bigr => j _; rewrite -(sub_scale sub) ?(ltW (positive j)) // => [| x].
  apply: (sub_eq sub) => x; rewrite /high_privacy /lifted; case: eqP => [-> | _]; last by rewrite mulrC.
  by rewrite [RHS]mulrC divfK.
by rewrite /lifted; case: eqP => _; rewrite ?(ltW c0) // divr_ge0 ?(ltW (positive _)) // subr_ge0.
Qed.

Theorem high_privacy_optimal : optimal c pi mu high_privacy.
Proof.
split=> [| Z Q aQ]; first exact: high_allowed.
have lifted0 j x : 0 <= lifted j x.
  by rewrite /lifted; case: eqP => _; rewrite ?(ltW c0) // divr_ge0 ?(ltW (positive _)) // subr_ge0.
rewrite high_utility; pose m z := mass pi Q z; have [kQ _] := aQ.
have m0 z : 0 <= m z by apply: mass_ge0 => // x z'; case: (kQ x).
have mtotal : \sum_z m z = 1 := masses_total aQ.
have Qtotal x : \sum_z Q x z = 1 by case: (kQ x).
(* Column z is the sum of the lifted vectors with the weights s z. *)
suff [s [s0 se st]] : exists s : Z -> X -> R, [/\ forall z j, 0 <= s z j,
    forall z x, Q x z = \sum_j s z j * lifted j x & forall j, \sum_z s z j = pi j].
  apply: le_trans (_ : \sum_z \sum_j s z j * mu (lifted j) <= _).
    by apply: ler_sum => z _; rewrite (sub_eq sub (se z)); apply: mu_mix.
  rewrite exchange_big /= le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => j _.
  by rewrite -mulr_suml st.
move: c1; rewrite le_eqVlt => /predU1P [c_1 | c_gt1].
  exists (fun z j => m z * pi j); split=> [z j | z x | j].
  - by rewrite mulr_ge0 // ltW.
  - have lifted1 j : lifted j x = 1.
      by rewrite /lifted -c_1 mul1r opprB addrC subrK divff // if_same.
    under eq_bigr do rewrite lifted1 mulr1; rewrite -mulr_sumr pi1 mulr1.
    have le x' : 0 <= m z - Q x' z by rewrite subr_ge0; have := below aQ x' z; rewrite -c_1 mul1r.
    have : \sum_x' pi x' * (m z - Q x' z) = 0.
      by under eq_bigr do rewrite mulrBr; rewrite sumrB -mulr_suml pi1 mul1r subrr.
    move/eqP; rewrite psumr_eq0 => [/allP /(_ x) | x' _]; last by rewrite mulr_ge0 // ltW.
    by rewrite mem_index_enum mulf_eq0 (negbTE (pi_neq0 x)) subr_eq0 => /(_ isT) /eqP.
  by rewrite -mulr_suml mtotal mul1r.
have d0 : 0 < c - 1 by rewrite subr_gt0.
have dn : c - 1 != 0 by rewrite gt_eqF.
exists (fun z j => (c * m z - Q j z) * pi j / (c - 1)); split=> [z j | z x | j].
- by rewrite divr_ge0 ?(ltW d0) // mulr_ge0 ?(ltW (positive j)) // subr_ge0 below.
- pose s j := (c * m z - Q j z) * pi j / (c - 1).
  have total : \sum_j s j = m z.
    rewrite /s -mulr_suml; under eq_bigr do rewrite mulrBl.
    rewrite sumrB -mulr_sumr pi1 mulr1; under eq_bigr do rewrite mulrC.
    by rewrite -/(mass pi Q z) -/(m z) -{2}[m z]mul1r -mulrBl mulrAC divff // mul1r.
  have e j : s j * lifted j x = c * s j - (if j == x then s j * (c - lifted j x) else 0).
    rewrite /lifted [x == j]eq_sym; case: (j == x); last by rewrite subr0 mulrC.
    by rings R.
  rewrite -/(s _) (eq_bigr _ (fun j _ => e j)) sumrB -mulr_sumr total -big_mkcond big_pred1_eq.
  rewrite /s /lifted eqxx; move: (pi_neq0 x) dn => /eqP p0 /eqP dn; apply: esym; fields R; split=> //; exact: dn.
rewrite -mulr_suml -mulr_suml sumrB -mulr_sumr mtotal Qtotal mulr1 mulrAC divff // mul1r.
by [].
Qed.
End HighPrivacy.
End Utilities.
End Optimum.

(** ** Theorem 2: two answers, every level up to epsilon_max

    [true] is x1, the likelier answer, and the first report; [false] is x2, and the second. *)
Section Binary.
Variable R : realFieldType.
Variables (pi : bool -> R) (c : R) (mu : (bool -> R) -> R).
Hypothesis prior : distribution pi.
Hypothesis positive : forall x, 0 < pi x.
Hypothesis c1 : 1 <= c.
Hypothesis sub : sublinear mu.
Add Field field2 : (field_facts R).
Notation x1 := true.
Notation x2 := false.

Definition matrix2 (a b d e : R) (x y : bool) : R := if x then (if y then a else b) else (if y then d else e).

(** The first case: P_X(x1) < e^-epsilon. *)
Definition binary_high := matrix2 (c * pi x2) (1 - c * pi x2) (1 - c * pi x1) (c * pi x1).

(** The second case: P_X(x1) >= e^-epsilon. *)
Definition binary_low := matrix2 ((c - 1) / (c * pi x1)) ((1 - c * pi x2) / (c * pi x1)) 0 1.

Let c0 : 0 < c. Proof. exact: lt_le_trans ltr01 c1. Qed.
Let two : pi x1 + pi x2 = 1. Proof. by case: prior => _; rewrite big_bool. Qed.
Let pi_x1 : pi x1 = 1 - pi x2. Proof. by rewrite -two addrK. Qed.
Let pi_x2 : pi x2 = 1 - pi x1. Proof. by rewrite -two addrC addKr. Qed.
Let cn : c <> 0. Proof. by apply/eqP; rewrite gt_eqF. Qed.
Let p1n : pi x1 <> 0. Proof. by apply/eqP; rewrite gt_eqF. Qed.

Theorem binary_high_optimal : c * pi x1 <= 1 -> c * pi x2 <= 1 -> optimal c pi mu binary_high.
Proof.
move=> le1 le2.
have high x : c * (1 - pi x) <= 1 by case: x; rewrite -?pi_x1 -?pi_x2.
have [[kP hP] best_of] := high_privacy_optimal prior positive c1 sub high.
have same x y : binary_high x y = high_privacy pi c x (~~ y).
  by case: x; case: y; rewrite /binary_high /matrix2 /high_privacy //= -?pi_x1 -?pi_x2.
have flip (f : bool -> R) : \sum_y f (~~ y) = \sum_y f y by rewrite [RHS](reindex_inj (can_inj negbK)).
split; first split=> [x | y x px].
- have [p0 p1] := kP x; split=> [y |]; first by rewrite same.
  by rewrite -[RHS]p1 -[RHS]flip; apply: eq_bigr => y _; rewrite same.
- have -> : mass pi binary_high y = mass pi (high_privacy pi c) (~~ y) by apply: eq_bigr => x' _; rewrite same.
  by rewrite same; apply: hP.
move=> Z Q aQ; apply: le_trans (best_of Z Q aQ) _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
rewrite /utility -flip; apply: eq_bigr => y _; apply: (sub_eq sub) => x; by rewrite same.
Qed.

Let first (x : bool) : R := if x then (pi x1)^-1 else 0.
Let second (x : bool) : R := if x then (1 - c * pi x2) / pi x1 else c.

Theorem binary_low_optimal : 1 <= c * pi x1 -> c * pi x2 <= 1 -> optimal c pi mu binary_low.
Proof.
move=> ge1 le2; have cp0 : 0 < c * pi x1 by rewrite mulr_gt0.
have ci0 : 0 <= c^-1 by rewrite invr_ge0 ltW.
have di0 : 0 <= 1 - c^-1 by rewrite subr_ge0 invf_le1.
have first0 x : 0 <= first x by rewrite /first; case: x => //; rewrite invr_ge0 ltW.
have second0 x : 0 <= second x.
  by rewrite /second; case: x; rewrite ?(ltW c0) // divr_ge0 ?subr_ge0 // ltW.
have P0 x y : 0 <= binary_low x y.
  by rewrite /binary_low /matrix2; case: x; case: y; rewrite ?ler01 // divr_ge0 ?(ltW cp0) // subr_ge0.
have value : utility mu binary_low = (1 - c^-1) * mu first + c^-1 * mu second.
  rewrite /utility big_bool -!(sub_scale sub) //; congr (_ + _); apply: (sub_eq sub) => x.
    by case: x; rewrite /binary_low /matrix2 /first /= ?mulr0 //; fields R; split.
  by case: x; rewrite /binary_low /matrix2 /second /=; [fields R; split | rewrite mulVf // gt_eqF].
have m_first : mass pi binary_low true = (c - 1) / c.
  by rewrite /mass big_bool /binary_low /matrix2 /= mulr0 addr0; fields R; split.
have m_second : mass pi binary_low false = c^-1.
  rewrite /mass big_bool /binary_low /matrix2 /= mulr1.
  have -> : pi x1 * ((1 - c * pi x2) / (c * pi x1)) = c^-1 - pi x2 by fields R; split.
  by rewrite subrK.
split; first split=> [x | y x _].
- split=> //; rewrite big_bool /binary_low /matrix2; case: x => /=; last by rewrite add0r.
  have e : c - 1 + (1 - c * pi x2) = c * pi x1 by rewrite pi_x1; rings R.
  by rewrite -mulrDl e divff // gt_eqF.
- case: y; rewrite ?m_first ?m_second.
    rewrite mulrC divfK ?gt_eqF // /binary_low /matrix2; case: x => /=; last by rewrite subr_ge0.
    by rewrite ler_pdivr_mulr // ler_pemulr // subr_ge0.
  rewrite divff ?gt_eqF // /binary_low /matrix2; case: x => //=.
  by rewrite ler_pdivr_mulr // mul1r ler_subl_addr -mulrDr two mulr1.
(* A column is the sum of both vectors, with weights that are linear in it. *)
move=> Z Q aQ; have [kQ _] := aQ; rewrite value; pose m z := mass pi Q z.
have mtotal : \sum_z m z = 1 := masses_total prior aQ.
have Q0 x z : 0 <= Q x z by case: (kQ x).
pose s1 z := m z - Q x2 z / c; pose s2 z := Q x2 z / c.
have s10 z : 0 <= s1 z.
  by rewrite subr_ge0 ler_pdivr_mulr // mulrC; apply: (below positive aQ).
have s20 z : 0 <= s2 z by rewrite divr_ge0 // ltW.
have e z x : Q x z = s1 z * first x + s2 z * second x.
  rewrite /s1 /s2 /m /mass big_bool /first /second; case: x => /=; last by rewrite mulr0 add0r divfK // gt_eqF.
  by apply: esym; fields R; split.
have total1 : \sum_z s1 z = 1 - c^-1.
  by rewrite sumrB mtotal -mulr_suml; case: (kQ x2) => _ ->; rewrite mul1r.
have total2 : \sum_z s2 z = c^-1 by rewrite -mulr_suml; case: (kQ x2) => _ ->; rewrite mul1r.
rewrite -total1 -total2 !mulr_suml -big_split /=; apply: ler_sum => z _; rewrite (sub_eq sub (e z)).
apply: le_trans (sub_add sub _ _) _ => [x | x |]; try by rewrite mulr_ge0.
by rewrite !(sub_scale sub).
Qed.

Corollary binary_optimal : c <= (pi x2)^-1 ->
  optimal c pi mu (if pi x1 < c^-1 then binary_high else binary_low).
Proof.
move=> cmax; have le2 : c * pi x2 <= 1 by rewrite -ler_pdivl_mulr // mul1r.
case: ltP => h.
  by apply: binary_high_optimal => //; rewrite mulrC -ler_pdivl_mulr // mul1r ltW.
by apply: binary_low_optimal => //; rewrite mulrC -ler_pdivr_mulr // mul1r.
Qed.

(** Hard garbling is the second case. With p the probability of "yes", which is x2: "yes" is always recorded as
    "yes", and "no" with the probability g = (e^-epsilon - p) / (1 - p). *)
Definition garbling (g : R) (x y : bool) : R := if x then (if y then 1 - g else g) else (if y then 0 else 1).

Theorem hard_garbling (p : R) : p = pi x2 -> (1 - p)^-1 <= c <= p^-1 ->
  optimal c pi mu (garbling ((c^-1 - p) / (1 - p))).
Proof.
move=> -> /andP [cmin cmax]; rewrite -pi_x1 in cmin *.
have le2 : c * pi x2 <= 1 by rewrite -ler_pdivl_mulr // mul1r.
have ge1 : 1 <= c * pi x1 by rewrite -ler_pdivr_mulr // mul1r.
have [[kP hP] best_of] := binary_low_optimal ge1 le2.
have e2 : (c^-1 - pi x2) / pi x1 = (1 - c * pi x2) / (c * pi x1) by fields R; split.
have e1 : 1 - (c^-1 - pi x2) / pi x1 = (c - 1) / (c * pi x1).
  by rewrite e2 pi_x2; fields R; split.
have same x y : garbling ((c^-1 - pi x2) / pi x1) x y = binary_low x y.
  by case: x; case: y; rewrite /garbling /binary_low /matrix2 /= ?e1 ?e2.
split; first split=> [x | y x px].
- have [p0 p1] := kP x; split=> [y |]; first by rewrite same.
  by rewrite -[RHS]p1; apply: eq_bigr => y _; rewrite same.
- have -> : mass pi (garbling ((c^-1 - pi x2) / pi x1)) y = mass pi binary_low y by apply: eq_bigr => x' _; rewrite same.
  by rewrite same; apply: hP.
move=> Z Q aQ; apply: le_trans (best_of Z Q aQ) _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
by apply: eq_bigr => y _; apply: (sub_eq sub) => x; rewrite same.
Qed.
End Binary.

(** ** Theorem 4: the uniform prior, every region *)
Section Uniform.
Variable R : realFieldType.
Variable n : nat.
Notation N := n.+1.
Add Field field4 : (field_facts R).

Definition uniform (x : 'I_N) : R := N%:R^-1.

(** A utility that does not change when answers are permuted. *)
Definition permutation_symmetric (mu : ('I_N -> R) -> R) :=
  forall (s : {perm 'I_N}) f, (forall x, 0 <= f x) -> mu (fun x => f (s x)) = mu f.

(** The matrix of Theorem 4 in region k: how far row i lies after column j, modulo N, says what stands there. *)
Definition steps (i j : 'I_N) : nat := (i + (N - j)) %% N.
Definition circular (c : R) k (i j : 'I_N) : R :=
  if i == j then 1 - c * (N - k)%:R / N%:R else if (steps i j <= N - k)%N then c / N%:R else 0.

Variables (c : R) (mu : ('I_N -> R) -> R).
Hypothesis c1 : 1 <= c.
Hypothesis sub : sublinear mu.
Hypothesis sym : permutation_symmetric mu.

Let N0 : 0 < N%:R :> R. Proof. exact: ltr0Sn. Qed.
Let Nn : N%:R <> 0 :> R. Proof. by apply/eqP; rewrite gt_eqF. Qed.
Let c0 : 0 <= c. Proof. exact: le_trans ler01 c1. Qed.

Lemma uniform_positive x : 0 < uniform x.
Proof. by rewrite invr_gt0. Qed.

Lemma uniform_distribution : distribution uniform.
Proof.
split=> [x |]; first exact/ltW/uniform_positive.
by rewrite /uniform sumr_const card_ord -(mulr_natl (N%:R^-1)) divff //; apply/eqP.
Qed.

(** The vectors that are c on a set of answers, r at one more, and 0 elsewhere. *)
Definition spiked (r : R) (A : {set 'I_N}) (j x : 'I_N) : R := if x == j then r else if x \in A then c else 0.

Lemma map_same (f : 'I_N -> R) (A : {set 'I_N}) v : (forall x, x \in A -> f x = v) -> map f (enum A) = nseq #|A| v.
Proof.
move=> fv; have /all_pred1P -> : all (pred1 v) (map f (enum A)); last by rewrite size_map -cardE.
by rewrite all_map; apply/allP => x; rewrite mem_enum /= => /fv ->.
Qed.

Lemma spiked_values r (A : {set 'I_N}) j : j \notin A ->
  perm_eq [seq spiked r A j x | x <- enum 'I_N] (r :: nseq #|A| c ++ nseq (n - #|A|) 0).
Proof.
move=> jA; have card : (#|~: (j |: A)| = n - #|A|)%N by rewrite cardsCs setCK card_ord cardsU1 jA subSS.
have order : perm_eq (enum 'I_N) (j :: enum A ++ enum (~: (j |: A))).
  apply: uniq_perm => [| | x].
  - exact: enum_uniq.
  - rewrite /= mem_cat !mem_enum in_setC in_setU1 eqxx (negbTE jA) /= cat_uniq !enum_uniq /= andbT.
    by apply/hasPn => x; rewrite /= !mem_enum in_setC in_setU1 negb_or => /andP [].
  rewrite mem_enum in_cons mem_cat !mem_enum in_setC in_setU1 negb_or.
  by case: (x == j) => //=; case: (x \in A).
apply: perm_trans (perm_map _ order) _; rewrite /= map_cat {1}/spiked eqxx perm_cons -card.
rewrite (map_same (v := c)) => [| x xA]; last first.
  by rewrite /spiked xA; case: eqP => // e; rewrite e (negbTE jA) in xA.
rewrite (map_same (v := 0)) // => x; rewrite in_setC in_setU1 negb_or /spiked.
by case/andP=> /negbTE -> /negbTE ->.
Qed.

Lemma spiked_utility r (A B : {set 'I_N}) i j : 0 <= r -> i \notin A -> j \notin B -> #|A| = #|B| ->
  mu (spiked r A i) = mu (spiked r B j).
Proof.
move=> r0 iA jB AB.
have pe : perm_eq [tuple spiked r A i x | x < N] [tuple spiked r B j x | x < N].
  rewrite /= !enumT -!enumT; apply: perm_trans (spiked_values r iA) _.
  by rewrite perm_sym AB; apply: spiked_values.
have /tuple_permP [p e] := pe; rewrite -(sym p (f := spiked r B j)) => [| x]; last first.
  by rewrite /spiked; case: ifP => // _; case: ifP.
apply: (sub_eq sub) => x; have /val_inj /(congr1 (fun t => tnth t x)) := e.
by rewrite !tnth_mktuple.
Qed.

Lemma spiked_sum r (A : {set 'I_N}) j : j \notin A -> \sum_x spiked r A j x = r + c * #|A|%:R.
Proof.
move=> jA; rewrite (bigD1 j) //= {1}/spiked eqxx; congr (_ + _).
rewrite (eq_bigr (fun x => if x \in A then c else 0)) => [| x /negbTE xj]; last by rewrite /spiked xj.
rewrite -big_mkcondr (eq_bigl (mem A)) ?sumr_const ?mulr_natr // => x /=.
by case: eqP => [-> | //]; rewrite (negbTE jA).
Qed.

Section Region.
Variable k : nat.
Hypothesis k0 : (0 < k <= N)%N.
Let m := (N - k)%N.
Hypothesis region : c * m%:R <= N%:R <= c * m.+1%:R.

Let mn : (m <= n)%N. Proof. by case/andP: k0 => k1 _; rewrite /m -ltnS ltn_subrL k1. Qed.
Let r := N%:R - c * m%:R.
Let r0 : 0 <= r. Proof. by rewrite subr_ge0; case/andP: region. Qed.
Let rc : r <= c. Proof. by case/andP: region => _; rewrite (mulrS 1 m) mulrDr mulr1 /r ler_subl_addr. Qed.

(** How far rows with c lie behind their column. *)
Let D := [set d : 'I_N | (d != 0) && (d <= m)%N].
Let after j := (fun i : 'I_N => i - j) @^-1: D.
Let before i := (fun j : 'I_N => i - j) @^-1: D.

Let card_D : #|D| = m.
Proof.
rewrite -sum1_card big_mkcond big_ord_recl /= inE eqxx /= add0n.
rewrite (eq_bigr (fun d : 'I_n => if (d < m)%N then 1%N else 0%N)) => [| d _]; last by rewrite inE.
by rewrite -big_mkcond -(big_ord_widen n (fun=> 1%N) mn) sum_nat_const card_ord muln1.
Qed.
Let card_after j : #|after j| = m. Proof. by rewrite card_preimset ?card_D //; apply: addIr. Qed.
Let card_before i : #|before i| = m.
Proof. by rewrite card_preimset ?card_D // => x y /addrI /oppr_inj. Qed.
Let not_after j : j \notin after j. Proof. by rewrite !inE subrr eqxx. Qed.
Let not_before i : i \notin before i. Proof. by rewrite !inE subrr eqxx. Qed.

Let column j i : circular c k i j = N%:R^-1 * spiked r (after j) j i.
Proof.
rewrite /circular /spiked -/m !inE subr_eq0; case: (eqVneq i j) => _ /=.
  by rewrite /r mulrBr mulVf ?[_ * N%:R^-1]mulrC //; apply/eqP.
rewrite modnDmr -/(steps i j).
by case: ifP => _; rewrite ?mulr0 // mulrC.
Qed.
Let row i j : circular c k i j = N%:R^-1 * spiked r (before i) i j.
Proof. by rewrite column /spiked !inE eq_sym. Qed.

Let spiked_one (A : {set 'I_N}) j : j \notin A -> #|A| = m -> \sum_x N%:R^-1 * spiked r A j x = 1.
Proof. by move=> jA Am; rewrite -mulr_sumr spiked_sum // Am /r subrK mulVf //; apply/eqP. Qed.

Lemma circular_allowed : allowed c uniform (circular c k).
Proof.
split=> [i | j i _].
  split=> [j |]; last by under eq_bigr do rewrite row; apply: spiked_one.
  by rewrite column mulr_ge0 ?invr_ge0 ?ler0n // /spiked; case: ifP => // _; case: ifP.
have -> : mass uniform (circular c k) j = N%:R^-1.
  rewrite /mass -mulr_sumr; under eq_bigr do rewrite column.
  by rewrite spiked_one ?mulr1.
rewrite column mulrC; apply: ler_wpmul2r; first by rewrite invr_ge0 ler0n.
by rewrite /spiked; case: ifP => // _; case: ifP.
Qed.

(** Every listed vector has the values of a column, in some order. *)
Lemma listed_spiked i : listed c uniform i ->
  exists (A : {set 'I_N}) j, [/\ j \notin A, #|A| = m & vertex c uniform i =1 spiked r A j].
Proof.
case: i => J j /and3P [/= jJ]; pose A := J :\ j; rewrite -/A (big_setD1 j jJ) /= -/A /uniform sumr_const.
pose a := #|A|; rewrite -/a => le1 ge1.
have le : c * a%:R <= N%:R by move: le1; rewrite -(mulr_natl N%:R^-1) mulrA ler_pdivr_mulr // mul1r.
have ge : N%:R <= c * a.+1%:R.
  by move: ge1; rewrite -(mulrS N%:R^-1 a) -(mulr_natl N%:R^-1) mulrA ler_pdivl_mulr // mul1r.
have jA : j \notin A by rewrite !inE eqxx.
have cp : 0 < c := lt_le_trans ltr01 c1.
have E x : vertex c uniform (J, j) x = spiked (N%:R - c * a%:R) A j x.
  rewrite /vertex /spiked /= -/A; case: (eqVneq x j) => [_ | xj]; last by rewrite !inE xj.
  by rewrite /uniform sumr_const -/a invrK -(mulr_natl N%:R^-1) mulrBl mul1r -mulrA divfK //; apply/eqP.
have [mle mge] := andP region.
have am : (a <= m.+1)%N by rewrite -(ler_nat R) -(ler_pmul2l cp); apply: le_trans mge.
have ma : (m <= a.+1)%N by rewrite -(ler_nat R) -(ler_pmul2l cp); apply: le_trans ge.
case: (ltngtP a m) => [lt | gt | e]; last by exists A, j; split=> // x; rewrite E /r e.
- (* one less: N = c m *)
  have e : m = a.+1 by apply/eqP; rewrite eqn_leq ma lt.
  have Ncm : N%:R = c * m%:R by apply/le_anti; rewrite mle e ge.
  have [j' j'J] : exists j', j' \notin J.
    apply/existsP; apply: contraT; rewrite negb_exists => /forallP all.
    have : (#|J| < #|'I_N|)%N by rewrite card_ord (cardsD1 j) jJ -/A -/a add1n -e.
    by rewrite ltnNge subset_leq_card //; apply/subsetP => x _; have := all x; rewrite negbK.
  exists J, j'; split=> // [| x]; first by rewrite (cardsD1 j) jJ e.
  rewrite E /spiked /r Ncm subrr e (mulrSr 1 a) mulrDr mulr1 addrC addKr !inE.
  case: (eqVneq x j) => [-> | xj]; first by rewrite jJ; case: eqP => // e'; rewrite -e' jJ in j'J.
  by case: (eqVneq x j') => [-> | //]; rewrite (negbTE j'J).
(* one more: N = c (m + 1) *)
have e : a = m.+1 by apply/eqP; rewrite eqn_leq am gt.
have Ncm : N%:R = c * m.+1%:R by apply/le_anti; rewrite mge -e le.
have [j' j'A] : exists j', j' \in A by apply/card_gt0P; rewrite -/a e.
exists (A :\ j'), j'; split=> [||x]; first by rewrite !inE eqxx.
  by have := cardsD1 j' A; rewrite j'A -/a e add1n => -[].
rewrite E /spiked e Ncm subrr /r Ncm (mulrSr 1 m) mulrDr mulr1 addrC addKr (in_setD1 x A).
case: (eqVneq x j') => [-> | xj'] /=; last by case: (eqVneq x j) => [-> | //]; rewrite (negbTE jA).
by rewrite j'A; case: eqP => // e'; rewrite -e' j'A in jA.
Qed.

Theorem uniform_optimal : optimal c uniform mu (circular c k).
Proof.
split=> [| Z Q aQ]; first exact: circular_allowed.
pose top := mu (spiked r (after ord0) ord0).
have s0 (A : {set 'I_N}) j x : 0 <= spiked r A j x by rewrite /spiked; case: ifP => // _; case: ifP.
have -> : utility mu (circular c k) = \sum_(j < N) N%:R^-1 * top.
  apply: eq_bigr => j _; rewrite (sub_eq sub (column j)) (sub_scale sub) ?invr_ge0 ?ler0n //; congr (_ * _).
  by apply: spiked_utility => //; rewrite !card_after.
apply: (weak_duality uniform_distribution uniform_positive c1 sub aQ) => i li.
have [A [j [jA Am e]]] := listed_spiked li.
under eq_bigr do rewrite mulrAC e; rewrite -mulr_suml spiked_one // mul1r (sub_eq sub e).
by rewrite (spiked_utility (B := after ord0) (j := ord0)) ?card_after.
Qed.
End Region.
End Uniform.
