(** * Sets of priors: the greedy minimum is a minimum, so a certificate for a set holds for every prior in it

    A set holds the priors between lower and upper bounds whose l1 distance from a center is at most a radius. Under
    which of them is a report least likely? The library moves mass from the answers with the largest weights to those
    with the smallest, as far as bounds and radius allow. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Extremal Require Import algebra promise.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The program

    For numbers of any kind: the theorems below are about its run in an ordered field, and the checker runs it in
    whole numbers. *)
Section Program.
Variable T : Type.
Variables add sub mul : T -> T -> T.
Variable zero : T.
Variable le : T -> T -> bool.

(** What moving mass saves. [lows] are pairs (weight, what may be added), the smallest weight first; [highs] are pairs
    (weight, what may be taken away), the largest weight first; [left] is how much may move in all. *)
Fixpoint saved (lows : seq (T * T)) : seq (T * T) -> T -> T :=
  if lows is (low, room) :: lows' then
    (fix from room (highs : seq (T * T)) left :=
       if highs is (high, stock) :: highs' then
         if le high low then zero
         else if le left room && le left stock then mul left (sub high low)
         else if le room stock then
           add (mul room (sub high low)) (saved lows' ((high, sub stock room) :: highs') (sub left room))
         else add (mul stock (sub high low)) (from (sub room stock) highs' (sub left stock))
       else zero) room
  else fun _ _ => zero.

(** Rows (center, weight, what may be added, what may be taken away). *)
Definition row := (T * T * (T * T))%type.
Definition sorted_rows : seq row -> seq row := sort (fun r r' => le r.1.2 r'.1.2).
Definition lows (rows : seq row) := [seq (r.1.2, r.2.1) | r <- rows].
Definition highs (rows : seq row) := rev [seq (r.1.2, r.2.2) | r <- rows].
Definition center_sum (rows : seq row) := foldr (fun r => add (mul r.1.1 r.1.2)) zero rows.

(** The smallest sum of mass times weight. *)
Definition smallest (rows : seq row) (movable : T) : T :=
  let s := sorted_rows rows in sub (center_sum rows) (saved (lows s) (highs s) movable).
End Program.

Section Sets.
Variable R : realFieldType.
Add Field field : (field_facts R).

Definition rsaved := @saved R +%R (fun x y => x - y) *%R 0 <=%R.
Definition rsmallest := @smallest R +%R (fun x y => x - y) *%R 0 <=%R.

(** *** The program is as good as a bound that no way of moving mass can exceed *)

Definition part (x : R) := Num.max 0 x.
Lemma part_ge0 x : 0 <= part x. Proof. by rewrite /part le_maxr lexx. Qed.
Lemma part_ge x : x <= part x. Proof. by rewrite /part le_maxr lexx orbT. Qed.
Lemma part_of x : 0 <= x -> part x = x. Proof. exact: max_r. Qed.
Lemma part_0 x : x <= 0 -> part x = 0. Proof. exact: max_l. Qed.

Lemma rsaved_cons low room lows high stock highs left :
  rsaved ((low, room) :: lows) ((high, stock) :: highs) left =
  if high <= low then 0
  else if (left <= room) && (left <= stock) then left * (high - low)
  else if room <= stock then room * (high - low) + rsaved lows ((high, stock - room) :: highs) (left - room)
  else stock * (high - low) + rsaved ((low, room - stock) :: lows) highs (left - stock).
Proof. by []. Qed.

Lemma rsaved_nil lows left : rsaved lows [::] left = 0.
Proof. by case: lows => [| []]. Qed.

Definition above_all (lo : R) (s : seq (R * R)) := all (fun i => lo <= i.1) s.
Definition below_all (hi : R) (s : seq (R * R)) := all (fun i => i.1 <= hi) s.

(** Induction over both lists, as the program runs through them. *)
Lemma run_ind (P : seq (R * R) -> seq (R * R) -> R -> Prop) :
  (forall highs left, P [::] highs left) ->
  (forall lows left, P lows [::] left) ->
  (forall low room lows high stock highs left,
     (low < high -> ~~ ((left <= room) && (left <= stock)) -> room <= stock ->
        P lows ((high, stock - room) :: highs) (left - room)) ->
     (low < high -> ~~ ((left <= room) && (left <= stock)) -> stock < room ->
        P ((low, room - stock) :: lows) highs (left - stock)) ->
     P ((low, room) :: lows) ((high, stock) :: highs) left) ->
  forall lows highs left, P lows highs left.
Proof.
move=> Pnil Pn P2 lows; elim: lows => [| [low room] lows IH] highs left; first exact: Pnil.
elim: highs room left => [| [high stock] highs IH2] room left; first exact: Pn.
by apply: P2 => *; [exact: IH | exact: IH2].
Qed.

Definition heads_sorted (L H : seq (R * R)) := sorted <=%R (unzip1 L) && sorted >=%R (unzip1 H).

Lemma sorted_low low L : path <=%R low (unzip1 L) -> above_all low L.
Proof. by move=> s; have := order_path_min le_trans s; rewrite all_map. Qed.

Lemma sorted_high high H : path >=%R high (unzip1 H) -> below_all high H.
Proof.
by move=> s; have := order_path_min (fun y x z yx zy => le_trans zy yx) s; rewrite all_map.
Qed.

Lemma part_low a L : above_all a L -> \sum_(i <- L) i.2 * part (a - i.1) = 0.
Proof. by move=> /allP al; rewrite big_seq big1 // => i /al ai; rewrite part_0 ?mulr0 // subr_le0. Qed.

Lemma part_high b H : below_all b H -> \sum_(i <- H) i.2 * part (i.1 - b) = 0.
Proof. by move=> /allP al; rewrite big_seq big1 // => i /al ai; rewrite part_0 ?mulr0 // subr_le0. Qed.

(** What the program saves is a price b - a for each unit moved, and what cheaper answers than a and dearer ones than
    b are better by. *)
Lemma saved_priced L H left : heads_sorted L H -> forall lo hi, lo <= hi -> above_all lo L -> below_all hi H ->
  exists a b, [/\ lo <= a, a <= b, b <= hi &
    rsaved L H left = (b - a) * left + \sum_(i <- L) i.2 * part (a - i.1) + \sum_(i <- H) i.2 * part (i.1 - b)].
Proof.
move: L H left; apply: run_ind => [H | L | low room L high stock H] left.
- move=> _ lo hi lohi _ hH; exists hi, hi; split=> //.
  by rewrite big_nil part_high // subrr mul0r !addr0.
- move=> _ lo hi lohi hL _; exists lo, lo; split=> //.
  by rewrite rsaved_nil big_nil part_low // subrr mul0r !addr0.
move=> IHL IHH /andP [sL sH] lo hi lohi aL bH.
have lowL := sorted_low sL; have highH := sorted_high sH.
have /andP [lolow _] : (lo <= low) && above_all lo L := aL.
have /andP [highhi _] : (high <= hi) && below_all hi H := bH.
rewrite rsaved_cons; case: (leP high low) => hl.
  pose m := Num.max lo high; have mlow : m <= low by rewrite le_maxl lolow hl.
  have lom : lo <= m by rewrite le_maxr lexx.
  have highm : high <= m by rewrite le_maxr lexx orbT.
  exists m, m; split=> //; first by rewrite le_maxl lohi highhi.
  rewrite subrr mul0r add0r part_low ?part_high ?addr0 //.
    by rewrite /below_all /= highm; apply: sub_all highH => i ih /=; apply: le_trans ih highm.
  by rewrite /above_all /= mlow; apply: sub_all lowL => i ih /=; apply: le_trans mlow ih.
have ll : low <= high := ltW hl.
case: ifP => [_ | /negbT big].
  exists low, high; split=> //.
  by rewrite part_low ?part_high ?addr0 ?[left * _]mulrC //; rewrite /above_all /below_all /= lexx.
case: (leP room stock) => rs.
  have s' : heads_sorted L ((high, stock - room) :: H) by rewrite /heads_sorted (path_sorted sL) sH.
  have b' : below_all high ((high, stock - room) :: H) by rewrite /below_all /= lexx.
  have [a [b [la ab bh ->]]] := IHL hl big rs s' low high ll lowL b'.
  exists a, b; split=> //; [exact: le_trans lolow la | exact: le_trans bh highhi |].
  by rewrite !big_cons /= !part_of ?subr_ge0 //; rings R.
have s' : heads_sorted ((low, room - stock) :: L) H by rewrite /heads_sorted (path_sorted sH) andbT; apply: sL.
have a' : above_all low ((low, room - stock) :: L) by rewrite /above_all /= lexx.
have [a [b [la ab bh ->]]] := IHH hl big rs s' low high ll a' highH.
exists a, b; split=> //; [exact: le_trans lolow la | exact: le_trans bh highhi |].
by rewrite !big_cons /= !part_of ?subr_ge0 ?(le_trans _ ab) //; rings R.
Qed.

(** *** The program moves mass as it may *)

(** What x gets (or gives) is within the room that the list has for it, and nothing if it is not in the list. *)
Section Plans.
Variables (X : finType) (w : X -> R).
Implicit Types (L H : seq (X * R)) (g t : X -> R).

Definition weights (L : seq (X * R)) := [seq (w i.1, i.2) | i <- L].
Definition plan L g := forall x, 0 <= g x /\ g x <= \sum_(i <- L | i.1 == x) i.2.

Definition roomy L := all (fun i => 0 <= i.2) L.

Lemma rooms_ge0 L x : roomy L -> 0 <= \sum_(i <- L | i.1 == x) i.2.
Proof. by move=> /allP r; rewrite big_seq_cond sumr_ge0 // => i /andP [/r]. Qed.

Lemma plan_0 L : roomy L -> plan L (fun=> 0).
Proof. by move=> r x; rewrite lexx rooms_ge0. Qed.

Definition at_ (z : X) (m : R) x := if x == z then m else 0.

Lemma sum_at z m (f : X -> R) : \sum_x at_ z m x * f x = m * f z.
Proof. by rewrite (bigD1 z) //= /at_ eqxx big1 ?addr0 // => x /negbTE ->; rewrite mul0r. Qed.

Lemma sum_at1 z m : \sum_x at_ z m x = m.
Proof. by rewrite -[RHS]mulr1 -(sum_at z m (fun=> 1)); apply: eq_bigr => x _; rewrite mulr1. Qed.

Lemma plan_more z m r L g : 0 <= m -> plan ((z, r) :: L) g -> plan ((z, r + m) :: L) (fun x => g x + at_ z m x).
Proof.
move=> m0 p x; have [g0 gr] := p x; move: gr; rewrite !big_cons /at_ /= [x == z]eq_sym; case: eqP => _ gr.
  by split; [rewrite addr_ge0 | rewrite addrAC ler_add2r].
by rewrite addr0; split.
Qed.

Lemma plan_cons i L g : 0 <= i.2 -> plan L g -> plan (i :: L) g.
Proof.
move=> i0 p x; have [g0 gr] := p x; split=> //; rewrite big_cons; case: ifP => // _.
by apply: le_trans gr _; rewrite ler_addr.
Qed.

Lemma saved_planned L H left : 0 <= left -> roomy L -> roomy H ->
  exists g t, [/\ plan L g, plan H t, \sum_x g x = \sum_x t x, \sum_x g x <= left &
    rsaved (weights L) (weights H) left = \sum_x t x * w x - \sum_x g x * w x].
Proof.
have none L' H' left' : 0 <= left' -> roomy L' -> roomy H' ->
    exists g t, [/\ plan L' g, plan H' t, \sum_x g x = \sum_x t x, \sum_x g x <= left' &
      0 = \sum_x t x * w x - \sum_x g x * w x].
  move=> l0 rL rH; exists (fun=> 0), (fun=> 0); split; rewrite ?sumr_const ?mul0rn ?subrr //; exact: plan_0.
elim: L H left => [| [z room] L IHL] H left l0 rL rH; first exact: none.
elim: H room left l0 rL rH => [| [y stock] H IHH] room left l0 rL rH; first by rewrite rsaved_nil; exact: none.
have /andP [r0 rL'] : (0 <= room) && roomy L := rL.
have /andP [s0 rH'] : (0 <= stock) && roomy H := rH.
rewrite /weights !map_cons -!/(weights _) rsaved_cons; case: (leP (w y) (w z)) => hl; first exact: none.
have plan0 i K : 0 <= i.2 -> roomy K -> plan ((i.1, 0) :: K) (fun=> 0).
  by move=> i0 rK; apply: plan_0; rewrite /roomy /= lexx.
have moved m i r K : 0 <= m -> m <= r -> roomy K -> plan ((i, r) :: K) (at_ i m).
  move=> m0 mr rK x; rewrite big_cons /= /at_ eq_sym; have k0 := rooms_ge0 x rK.
  by case: eqP => _; rewrite ?lexx ?m0 //; split=> //; rewrite (le_trans mr) // ler_addl.
case: ifP => [/andP [lr ls] | /negbT big].
  exists (at_ z left), (at_ y left); split; rewrite ?sum_at1 ?sum_at ?mulrBr //; exact: moved.
case: (leP room stock) => rs.
  have rl : room <= left.
    by move: big; rewrite negb_and -!ltNge => /orP [/ltW // | /ltW]; apply: le_trans.
  have [|||g [t [pg pt gt gl e]]] := IHL ((y, stock - room) :: H) (left - room).
  - by rewrite subr_ge0.
  - by [].
  - by rewrite /roomy /= subr_ge0 rs.
  exists (fun x => g x + at_ z room x), (fun x => t x + at_ y room x); split.
  - by rewrite -[room in (z, room)]add0r; apply: plan_more => //; apply: plan_cons.
  - by rewrite -[stock in (y, stock)](subrK room); apply: plan_more.
  - by rewrite !big_split /= !sum_at1 gt.
  - by rewrite big_split /= sum_at1 -ler_subr_addr.
  rewrite e.
  under [X in _ = X - _]eq_bigr do rewrite mulrDl; under [X in _ = _ - X]eq_bigr do rewrite mulrDl.
  by rewrite !big_split /= !sum_at; rings R.
have sl : stock <= left.
  by move: big; rewrite negb_and -!ltNge => /orP [/ltW | /ltW //]; apply: le_trans (ltW rs).
have [|||g [t [pg pt gt gl e]]] := IHH (room - stock) (left - stock).
- by rewrite subr_ge0.
- by rewrite /roomy /= subr_ge0 (ltW rs).
- by [].
exists (fun x => g x + at_ z stock x), (fun x => t x + at_ y stock x); split.
- by rewrite -[room in (z, room)](subrK stock); apply: plan_more.
- by rewrite -[stock in (y, stock)]add0r; apply: plan_more => //; apply: plan_cons.
- by rewrite !big_split /= !sum_at1 gt.
- by rewrite big_split /= sum_at1 -ler_subr_addr.
rewrite e.
under [X in _ = X - _]eq_bigr do rewrite mulrDl; under [X in _ = _ - X]eq_bigr do rewrite mulrDl.
by rewrite !big_split /= !sum_at; rings R.
Qed.
End Plans.

Section Minimum.
Variable X : finType.

(** *** Priors near a center, in the numbers that the program reads

    A distribution [p] that differs from [center] by at most [up x] upwards and [down x] downwards, and by at most
    [movable] upwards (so by as much downwards) in all. *)
Definition near (center up down : X -> R) movable (p : X -> R) :=
  [/\ \sum_x p x = \sum_x center x,
      forall x, center x - down x <= p x <= center x + up x &
      \sum_x `|p x - center x| <= 2%:R * movable].

Definition rows_of (center w up down : X -> R) : seq (row R) :=
  [seq (center x, w x, (up x, down x)) | x <- enum X].

Definition smallest_sum (center up down : X -> R) movable w := rsmallest (rows_of center w up down) movable.

Section Ranked.
Variables (center w up down : X -> R) (movable : R).
Hypotheses (up0 : forall x, 0 <= up x) (down0 : forall x, 0 <= down x) (movable0 : 0 <= movable).

Let s := sort (fun x y => w x <= w y) (enum X).
Let L := [seq (x, up x) | x <- s].
Let H := rev [seq (x, down x) | x <- s].

Lemma smallest_saved :
  smallest_sum center up down movable w =
  \sum_x center x * w x - rsaved (weights w L) (weights w H) movable.
Proof.
rewrite /smallest_sum /rsmallest /smallest; congr (_ - _).
  have -> : \sum_x center x * w x = \sum_(x <- enum X) center x * w x by rewrite big_enum.
  by rewrite /center_sum /rows_of; elim: (enum X) => [| x r /= ->]; rewrite ?big_nil // big_cons.
rewrite /sorted_rows /rows_of sort_map /lows /highs -!map_comp /weights /L /H map_rev -!map_comp.
by congr (rsaved _ (rev _) _).
Qed.

Lemma s_perm : perm_eq s (enum X). Proof. by rewrite perm_sort. Qed.

Lemma ranked : heads_sorted (weights w L) (weights w H).
Proof.
rewrite /heads_sorted /weights /L /H /unzip1 map_rev map_rev -!map_comp /= rev_sorted.
have -> : map (fst \o ((fun i => (w i.1, i.2)) \o (fun x => (x, up x)))) s = map w s by apply: eq_map.
by rewrite andbb sorted_map; apply: sort_sorted => x y; apply: le_total.
Qed.

Lemma sum_L (f : X * R -> R) : \sum_(i <- L) f i = \sum_x f (x, up x).
Proof. by rewrite big_map (perm_big _ s_perm) big_enum. Qed.

Lemma sum_H (f : X * R -> R) : \sum_(i <- H) f i = \sum_x f (x, down x).
Proof. by rewrite /H (perm_big [seq (x, down x) | x <- s]) ?perm_rev // big_map (perm_big (enum X) s_perm) /= big_enum. Qed.

Lemma roomy_L : roomy L.
Proof. by apply/allP => i /mapP [x _ ->]; apply: up0. Qed.

Lemma roomy_H : roomy H.
Proof. by apply/allP => i; rewrite mem_rev => /mapP [x _ ->]; apply: down0. Qed.

Lemma room_L x : \sum_(i <- L | i.1 == x) i.2 = up x.
Proof. by rewrite big_mkcond sum_L (bigD1 x) //= eqxx big1 ?addr0 // => x' /negbTE ->. Qed.

Lemma room_H x : \sum_(i <- H | i.1 == x) i.2 = down x.
Proof. by rewrite big_mkcond sum_H (bigD1 x) //= eqxx big1 ?addr0 // => x' /negbTE ->. Qed.

(** The program's number is attained ... *)
Lemma smallest_attained :
  exists2 p, near center up down movable p & \sum_x p x * w x = smallest_sum center up down movable w.
Proof.
have [g [t [pg pt gt gl e]]] := saved_planned w movable0 roomy_L roomy_H.
have g_up x : 0 <= g x <= up x by have [g0] := pg x; rewrite room_L g0.
have t_down x : 0 <= t x <= down x by have [t0] := pt x; rewrite room_H t0.
exists (fun x => center x + (g x - t x)).
  split.
  - by rewrite big_split /= sumrB gt subrr addr0.
  - move=> x; have /andP [g0 gu] := g_up x; have /andP [t0 td] := t_down x.
    by rewrite !ler_add2l ler_oppl opprB !ler_subl_addr (le_trans td) ?(le_trans gu) ?ler_addl.
  apply: le_trans (_ : \sum_x (g x + t x) <= _).
    apply: ler_sum => x _; rewrite addrC addKr; apply: le_trans (ler_norm_sub _ _) _.
    by have /andP [g0 _] := g_up x; have /andP [t0 _] := t_down x; rewrite !ger0_norm.
  by rewrite big_split /= -gt mulr_natl mulr2n ler_add.
rewrite smallest_saved e opprB -sumrB -big_split /=.
by apply: eq_bigr => x _; rings R.
Qed.

(** ... and no prior of the set gives a smaller one. *)
Lemma smallest_below p : near center up down movable p ->
  smallest_sum center up down movable w <= \sum_x p x * w x.
Proof.
case=> p1 pb pr; have c1 := ranked.
pose hi := \sum_x `|w x|.
have wh x : `|w x| <= hi by rewrite /hi (bigD1 x) //= ler_addl sumr_ge0.
have lohi : - hi <= hi by apply: le_trans (_ : 0 <= _); rewrite ?oppr_le0 /hi ?sumr_ge0.
have aL : above_all (- hi) (weights w L).
  by apply/allP => _ /mapP [i _ ->] /=; have := wh i.1; rewrite ler_norml => /andP [].
have bH : below_all hi (weights w H).
  by apply/allP => _ /mapP [i _ ->] /=; have := wh i.1; rewrite ler_norml => /andP [].
have [a [b [_ ab _ e]]] := saved_priced movable c1 lohi aL bH.
have eL (f : R * R -> R) : \sum_(i <- weights w L) f i = \sum_x f (w x, up x) by rewrite big_map sum_L.
have eH (f : R * R -> R) : \sum_(i <- weights w H) f i = \sum_x f (w x, down x) by rewrite big_map sum_H.
rewrite smallest_saved e eL eH /= ler_subl_addr.
pose g x := part (p x - center x); pose t x := part (center x - p x).
have gt x : p x = center x + (g x - t x).
  rewrite /g /t; case: (leP (p x) (center x)) => pc.
    by rewrite part_0 ?subr_le0 // part_of ?subr_ge0 //; apply: esym; rings R.
  by rewrite part_of ?subr_ge0 ?ltW // [part _]part_0 ?subr_le0 ?ltW //; apply: esym; rings R.
have g_up x : g x <= up x.
  by rewrite /g /part le_maxl up0 ler_subl_addl; have /andP [] := pb x.
have t_down x : t x <= down x.
  by rewrite /t /part le_maxl down0 ler_subl_addr -ler_subl_addl; have /andP [] := pb x.
have same : \sum_x g x = \sum_x t x.
  apply/eqP; rewrite -subr_eq0 -sumrB; move/eqP: p1; rewrite -subr_eq0 -sumrB => /eqP p1.
  by apply/eqP; rewrite -[RHS]p1; apply: eq_bigr => x _; rewrite gt; rings R.
have half : \sum_x g x <= movable.
  rewrite -(ler_pmul2l (ltr0Sn R 1)) mulr_natl mulr2n {2}same -big_split /=.
  apply: le_trans pr; rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => x _.
  rewrite /g /t; case: (leP (p x) (center x)) => pc.
    by rewrite part_0 ?subr_le0 // part_of ?subr_ge0 // ler0_norm ?subr_le0 // add0r opprB.
  by rewrite part_of ?subr_ge0 ?ltW // [part _]part_0 ?subr_le0 ?ltW // gtr0_norm ?subr_gt0 // addr0.
have split_sum : \sum_x (p x * w x + (b * t x - a * g x + up x * part (a - w x) + down x * part (w x - b))) =
    \sum_x p x * w x + ((b - a) * (\sum_x g x) + \sum_x up x * part (a - w x) + \sum_x down x * part (w x - b)).
  by rewrite !big_split /= sumrN -!mulr_sumr -same mulrBl.
apply: le_trans (_ : _ <= \sum_x p x * w x +
    ((b - a) * (\sum_x g x) + \sum_x up x * part (a - w x) + \sum_x down x * part (w x - b))) _; last first.
  by rewrite ler_add2l !ler_add2r; apply: ler_wpmul2l half; rewrite subr_ge0.
rewrite -split_sum.
apply: ler_sum => x _; rewrite gt.
have g0 : 0 <= g x := part_ge0 _; have t0 : 0 <= t x := part_ge0 _.
have h1 : g x * (a - w x) <= up x * part (a - w x).
  by apply: le_trans (ler_wpmul2l g0 (part_ge (a - w x))) _; apply: ler_wpmul2r; rewrite ?part_ge0 ?g_up.
have h2 : t x * (w x - b) <= down x * part (w x - b).
  by apply: le_trans (ler_wpmul2l t0 (part_ge (w x - b))) _; apply: ler_wpmul2r; rewrite ?part_ge0 ?t_down.
have := ler_add h1 h2; rewrite -subr_ge0 => h; rewrite -subr_ge0.
suff <- : up x * part (a - w x) + down x * part (w x - b) - (g x * (a - w x) + t x * (w x - b)) =
  (center x + (g x - t x)) * w x + (b * t x - a * g x + up x * part (a - w x) + down x * part (w x - b)) -
  center x * w x by [].
by rings R.
Qed.
End Ranked.

(** *** Sets of priors as people name them *)
Record prior_set := PriorSet { center : X -> R; lower : X -> R; upper : X -> R; radius : R }.

Definition member (s : prior_set) (pi : X -> R) :=
  [/\ distribution pi, forall x, lower s x <= pi x <= upper s x & \sum_x `|pi x - center s x| <= radius s].

(** Bounds are not negative, and the center is itself in the set. *)
Definition proper s := (forall x, 0 <= lower s x) /\ member s (center s).

(** What the library computes for the weights of a report. *)
Definition smallest_mean s (w : X -> R) :=
  smallest_sum (center s) (fun x => upper s x - center s x) (fun x => center s x - lower s x) (radius s / 2%:R) w.

Lemma proper_radius s : proper s -> 0 <= radius s.
Proof. by case=> _ [_ _]; rewrite big1 // => x _; rewrite subrr normr0. Qed.

Lemma member_near s pi : (forall x, 0 <= lower s x) -> distribution (center s) ->
  member s pi <->
  near (center s) (fun x => upper s x - center s x) (fun x => center s x - lower s x) (radius s / 2%:R) pi.
Proof.
move=> l0 [_ c1]; have two : 2%:R != 0 :> R by rewrite pnatr_eq0.
have e x : (center s x - (center s x - lower s x) = lower s x) * (center s x + (upper s x - center s x) = upper s x).
  by split; rings R.
rewrite /near mulrC divfK //; split=> [[[p0 p1] pb pr] | [p1 pb pr]].
  by split=> // [| x]; rewrite ?p1 ?c1 // !e.
split=> // [| x]; last by have := pb x; rewrite !e.
by split=> [x |]; [have := pb x; rewrite !e => /andP [/(le_trans (l0 x))] | rewrite p1].
Qed.

(** The greedy minimum is the minimum over the set. *)
Theorem set_minimum s w : proper s ->
  (exists2 pi, member s pi & \sum_x pi x * w x = smallest_mean s w) /\
  (forall pi, member s pi -> smallest_mean s w <= \sum_x pi x * w x).
Proof.
move=> ps; have [l0 [cd cb _]] := ps; have r0 := proper_radius ps.
have up0 x : 0 <= upper s x - center s x by rewrite subr_ge0; have /andP [] := cb x.
have down0 x : 0 <= center s x - lower s x by rewrite subr_ge0; have /andP [] := cb x.
split=> [| pi /(member_near pi l0 cd)]; last exact: smallest_below.
have m0 : 0 <= radius s / 2%:R by rewrite divr_ge0 ?ler0n.
have [pi npi e] := smallest_attained (center s) w up0 down0 m0.
by exists pi => //; apply/member_near.
Qed.

(** For a set of answers A, with weight 1 each, the minimum is the larger of what the l1 ball, the lower and the upper
    bounds leave to A. *)
Lemma share_of (m D : R) : 0 <= m <= D -> exists2 a, 0 <= a <= 1 & a * D = m.
Proof.
case/andP=> m0 mD; case: (ltrgtP 0 D) => D0; last 2 first.
- by move: (le_trans m0 mD); rewrite leNgt D0.
- by exists 0; rewrite ?lexx ?ler01 // mul0r; apply/le_anti; rewrite m0 D0.
by exists (m / D); rewrite ?divfK ?gt_eqF // divr_ge0 ?(ltW D0) //= ler_pdivr_mulr // mul1r.
Qed.

Theorem least_of_answers s (A : pred X) : proper s ->
  smallest_mean s (fun x => (A x)%:R) =
  Num.max (\sum_(x | A x) center s x - radius s / 2%:R)
    (Num.max (\sum_(x | A x) lower s x) (1 - \sum_(x | ~~ A x) upper s x)).
Proof.
move=> ps; have [l0 [[c0 c1] cb _]] := ps; have r0 := proper_radius ps.
have [[p [[p0 p1] pb pr] <-] least] := set_minimum (fun x => (A x)%:R) ps.
have total (q : X -> R) : \sum_x q x * (A x)%:R = \sum_(x | A x) q x.
  by rewrite [RHS]big_mkcond; apply: eq_bigr => x _; case: (A x); rewrite ?mulr1 ?mulr0.
have both (q : X -> R) : \sum_x q x = \sum_(x | A x) q x + \sum_(x | ~~ A x) q x by rewrite (bigID A).
apply/le_anti/andP; split; last first.
  rewrite total !le_maxl; apply/and3P; split.
  - have e : \sum_(x | A x) (center s x - p x) = \sum_(x | ~~ A x) (p x - center s x).
      apply/eqP; rewrite !sumrB -subr_eq0; move: c1 p1; rewrite !both.
      set a := \sum_(x | A x) p x; set b := \sum_(x | ~~ A x) p x.
      set a' := \sum_(x | A x) center s x; set b' := \sum_(x | ~~ A x) center s x => c1 p1.
      have -> : a' - a - (b - b') = (a' + b') - (a + b) by rings R.
      by rewrite c1 p1 subrr.
    rewrite ler_subl_addl -ler_subl_addr -sumrB ler_pdivl_mulr ?ltr0n // mulr_natr mulr2n {2}e.
    apply: le_trans pr; rewrite both; apply: ler_add; apply: ler_sum => x _; last exact: ler_norm.
    by rewrite distrC ler_norm.
  - by apply: ler_sum => x _; have /andP [] := pb x.
  rewrite ler_subl_addr -p1 both ler_add2l; apply: ler_sum => x _; by have /andP [] := pb x.
pose m := Num.min (radius s / 2%:R)
  (Num.min (\sum_(x | A x) (center s x - lower s x)) (\sum_(x | ~~ A x) (upper s x - center s x))).
have D0 : 0 <= \sum_(x | A x) (center s x - lower s x).
  by apply: sumr_ge0 => x _; rewrite subr_ge0; have /andP [] := cb x.
have U0 : 0 <= \sum_(x | ~~ A x) (upper s x - center s x).
  by apply: sumr_ge0 => x _; rewrite subr_ge0; have /andP [] := cb x.
have m0 : 0 <= m by rewrite !le_minr divr_ge0 ?ler0n // D0 U0.
have [a /andP [a0 a1] ea] : exists2 a, 0 <= a <= 1 & a * (\sum_(x | A x) (center s x - lower s x)) = m.
  by apply: share_of; rewrite m0 !le_minl lexx !orbT.
have [b /andP [b0 b1] eb] : exists2 b, 0 <= b <= 1 & b * (\sum_(x | ~~ A x) (upper s x - center s x)) = m.
  by apply: share_of; rewrite m0 !le_minl lexx !orbT.
pose q x := center s x + (if A x then - (a * (center s x - lower s x)) else b * (upper s x - center s x)).
have qA : \sum_(x | A x) q x = \sum_(x | A x) center s x - m.
  by rewrite -ea mulr_sumr -sumrB; apply: eq_bigr => x Ax; rewrite /q Ax.
have qB : \sum_(x | ~~ A x) q x = \sum_(x | ~~ A x) center s x + m.
  by rewrite -eb mulr_sumr -big_split; apply: eq_bigr => x /negbTE Ax; rewrite /q Ax.
have qb x : lower s x <= q x <= upper s x.
  have /andP [cl cu] := cb x; rewrite /q; case: (A x).
    rewrite ler_subr_addr -ler_subr_addl ler_pimull ?subr_ge0 //=.
    by rewrite ler_subl_addr (le_trans cu) // ler_addl mulr_ge0 // subr_ge0.
  rewrite -ler_subr_addl ler_pimull ?subr_ge0 // andbT.
  by rewrite (le_trans cl) // ler_addl mulr_ge0 // subr_ge0.
have mq : member s q.
  split=> //.
    split=> [x |]; first by have /andP [/(le_trans (l0 x))] := qb x.
    by rewrite both qA qB addrACA addNr addr0 -both.
  apply: le_trans (_ : m + m <= _); last first.
    rewrite -[radius s](divfK (_ : 2%:R != 0)) ?pnatr_eq0 // mulr_natr mulr2n ler_add //; by rewrite le_minl lexx.
  rewrite both -{1}ea -eb !mulr_sumr; apply: ler_add; apply: ler_sum => x Ax; have /andP [cl cu] := cb x.
    by rewrite /q Ax addrC addKr normrN ger0_norm // mulr_ge0 // subr_ge0.
  by rewrite /q (negbTE Ax) addrC addKr ger0_norm // mulr_ge0 // subr_ge0.
apply: le_trans (least q mq) _; rewrite total qA ler_subl_addr -ler_subl_addl.
rewrite !le_minr; apply/and3P; split.
- rewrite ler_subl_addl -ler_subl_addr; by rewrite le_maxr lexx.
- rewrite ler_subl_addl -ler_subl_addr -sumrB !le_maxr; apply/orP; right; apply/orP; left.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => x _; rings R.
rewrite ler_subl_addl -ler_subl_addr !le_maxr; apply/orP; right; apply/orP; right.
by move: c1; rewrite both sumrB => <-; rewrite le_eqVlt; apply/orP; left; apply/eqP; rings R.
Qed.

Section Certificates.
Variables (Y : finType) (w : X -> Y -> R).
Hypothesis weights0 : forall x y, 0 <= w x y.

(** What is checked for a report, by means of the smallest mean: its largest weight is at most c times that mean. *)
Definition keeps_all c s y := forall x, w x y <= c * smallest_mean s (fun x => w x y).

(** A certificate for the set holds for every prior in it ... *)
Theorem set_certificate c s y : proper s -> 0 <= c -> keeps_all c s y ->
  forall pi, member s pi -> keeps c pi w y.
Proof.
move=> ps c0 k pi mpi x _; apply: le_trans (k x) _; apply: ler_wpmul2l => //.
by have [_ m] := set_minimum (fun x => w x y) ps; apply: m.
Qed.

(** ... and so does the promise. *)
Corollary set_promise c s y (U : finType) (g : X -> U -> R) pi :
  proper s -> 0 <= c -> keeps_all c s y -> member s pi -> 0 < mass pi w y -> (forall x u, 0 <= g x u) ->
  best (expected (posterior pi w y) g) <= c * best (expected pi g).
Proof.
move=> ps c0 k mpi m0 g0; have [d _ _] := mpi.
exact: (promise d weights0 m0 (set_certificate ps c0 k mpi) g0).
Qed.

(** Nothing is given away: if every prior of the set keeps c, and every answer is possible for one of them, then what
    is checked holds. *)
Lemma member_mix s pi pi' t : member s pi -> member s pi' -> 0 <= t <= 1 ->
  member s (fun x => (1 - t) * pi x + t * pi' x).
Proof.
case=> [[p0 p1] pb pr] [[q0 q1] qb qr] /andP [t0 t1]; have u0 : 0 <= 1 - t by rewrite subr_ge0.
have one (a b : R) : (1 - t) * a + t * b - a = t * (b - a) by rings R.
split.
- split=> [x |]; first by rewrite addr_ge0 // mulr_ge0.
  by rewrite big_split /= -!mulr_sumr p1 q1 !mulr1 subrK.
- move=> x; have /andP [pl pu] := pb x; have /andP [ql qu] := qb x.
  have mix (a : R) : a = (1 - t) * a + t * a by apply: esym; rings R.
  by rewrite {1}[lower s x]mix {1}[upper s x]mix !ler_add //; apply: ler_wpmul2l.
have mix (a : R) : a = (1 - t) * a + t * a by apply: esym; rings R.
rewrite [radius s]mix.
apply: le_trans (_ : \sum_x ((1 - t) * `|pi x - center s x| + t * `|pi' x - center s x|) <= _).
  apply: ler_sum => x _.
  have -> : (1 - t) * pi x + t * pi' x - center s x = (1 - t) * (pi x - center s x) + t * (pi' x - center s x).
    by rings R.
  by apply: le_trans (ler_norm_add _ _) _; rewrite !normrM !(ger0_norm u0) !(ger0_norm t0).
by rewrite big_split /= -!mulr_sumr ler_add //; apply: ler_wpmul2l.
Qed.

Theorem set_converse c s y : proper s -> (forall x, exists2 pi, member s pi & 0 < pi x) ->
  (forall pi, member s pi -> keeps c pi w y) -> keeps_all c s y.
Proof.
move=> ps possible k x; have [[pi mpi <-] _] := set_minimum (fun x => w x y) ps.
have [q mq qx] := possible x.
rewrite leNgt; apply/negP; rewrite -subr_gt0; set h := \sum__ _ => d0.
pose d := w x y - c * h; pose e := c * (mass q w y - h).
have mixed t : 0 < t <= 1 -> d <= t * e.
  case/andP=> t0 t1; have tt : 0 <= t <= 1 by rewrite ltW.
  have m := member_mix mpi mq tt; have [[p0 _] _ _] := mpi.
  have := k _ m x; rewrite /mass.
  have -> : \sum_x0 ((1 - t) * pi x0 + t * q x0) * w x0 y = (1 - t) * h + t * mass q w y.
    rewrite /h /mass !mulr_sumr -big_split /=; apply: eq_bigr => z _; rings R.
  have pos : 0 < (1 - t) * pi x + t * q x.
    by rewrite ltr_paddl ?mulr_gt0 // mulr_ge0 // subr_ge0.
  move=> /(_ pos) le; rewrite /d /e ler_subl_addl; apply: le_trans le _.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; rings R.
have d_gt0 : 0 < d by [].
clearbody d e; case: (leP e 0) => e0.
  have := le_trans (mixed 1 _) _; rewrite ltr01 lexx => /(_ 0 isT); rewrite mul1r => /(_ e0).
  by rewrite leNgt d_gt0.
pose t := Num.min 1 (d / (2%:R * e)).
have t0 : 0 < t by rewrite lt_minr ltr01 divr_gt0 // mulr_gt0 // ltr0n.
have t1 : t <= 1 by rewrite le_minl lexx.
have te : t * e <= d / 2%:R.
  have : t <= d / (2%:R * e) by rewrite le_minl lexx orbT.
  rewrite -(ler_pmul2r e0) => /le_trans; apply.
  by rewrite invfM mulrA divfK ?lexx // gt_eqF.
have := le_trans (mixed t _) te; rewrite t0 t1 => /(_ isT).
by rewrite ler_pdivl_mulr ?ltr0n // mulr_natr mulr2n ger_addl leNgt d_gt0.
Qed.
End Certificates.

(** *** Numbers in a file are rounded

    The center of a named set may not sum to 1 exactly. The library then divides it by its sum, widens each bound to
    hold the result, and adds to the radius what the center has moved: *)
Definition widened s :=
  let total := \sum_x center s x in
  let c x := center s x / total in
  PriorSet c (fun x => Num.min (lower s x) (c x)) (fun x => Num.max (upper s x) (c x)) (radius s + `|total - 1|).

(** The wider set holds every prior of the named one. *)
Theorem widened_holds s pi : (forall x, 0 <= center s x) -> 0 < \sum_x center s x -> member s pi ->
  member (widened s) pi.
Proof.
move=> c0 t0 [d b r]; split=> //= [x |].
  by have /andP [bl bu] := b x; rewrite le_minl bl le_maxr bu.
apply: le_trans (ler_add r (lexx _)).
set t := \sum_x _ in t0 *.
have moved : \sum_x `|center s x - center s x / t| = `|t - 1|.
  have e x : `|center s x - center s x / t| = center s x * (`|t - 1| / t).
    have -> : center s x - center s x / t = center s x * ((t - 1) / t) by fields R; apply/eqP; rewrite gt_eqF.
    by rewrite normrM normf_div (ger0_norm (c0 x)) (gtr0_norm t0).
  under eq_bigr do rewrite e.
  by rewrite -mulr_suml -/t mulrC divfK // gt_eqF.
rewrite -moved -big_split /=; apply: ler_sum => x _.
by apply: le_trans (ler_norm_add _ _); rewrite addrA subrK.
Qed.

Theorem widened_proper s : (forall x, 0 <= center s x) -> (forall x, 0 <= lower s x) -> 0 <= radius s ->
  0 < \sum_x center s x -> proper (widened s).
Proof.
move=> c0 l0 r0 t0; have q0 x : 0 <= center s x / \sum_x center s x by rewrite divr_ge0 // ltW.
split=> [x | ] /=; first by rewrite le_minr l0 q0.
split=> [| x |] /=.
- by split=> //; rewrite -mulr_suml divff // gt_eqF.
- by rewrite le_minl le_maxr lexx !orbT.
by rewrite big1 ?addr_ge0 // => x _; rewrite subrr normr0.
Qed.
End Minimum.
End Sets.
