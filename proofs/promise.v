(** * The promise: what a bound on the lift of a report says about every guess

    Beside Definition 1 of the paper. [pi] is how common each answer is, [w x y] how likely answer x turns into report
    y, up to a factor that is the same for all x: a row of probabilities, or of the whole numbers in a mechanism file.

    Values lie in any ordered field, so all of this holds for rational and for real numbers. The paper's e^epsilon is
    the factor [c] here, so no logarithm is needed. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Extremal Require Import algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Definitions.
Variable R : realFieldType.

(** Probabilities of the elements of a finite type, and a row of them for each element of another one. *)
Definition distribution (T : finType) (p : T -> R) := (forall t, 0 <= p t) /\ \sum_t p t = 1.
Definition kernel (S T : finType) (k : S -> T -> R) := forall s, distribution (k s).

(** The largest of finitely many numbers >= 0: see [best_attained] and [best_upper]. *)
Definition best (U : finType) (f : U -> R) : R := \big[Num.max/0]_u f u.

Variables X Y : finType.

(** How likely report y is (P_Y, if rows of w are probabilities), and P_{X|Y=y}. *)
Definition mass (pi : X -> R) (w : X -> Y -> R) y := \sum_x pi x * w x y.
Definition posterior pi w y x := pi x * w x y / mass pi w y.

(** The column of report y keeps the factor c: max over pi(x) > 0 of w(x,y) <= c sum_x pi(x) w(x,y). *)
Definition keeps c (pi : X -> R) (w : X -> Y -> R) y := forall x, 0 < pi x -> w x y <= c * mass pi w y.

(** e to the power of the leakage l(X -> y): the largest lift of y. *)
Definition lift pi w y := best (fun x => if 0 < pi x then w x y / mass pi w y else 0).

(** What the guess u is expected to gain if x has the probabilities q, and the probability of the value u of a
    randomised attribute k of x. They are one formula: "gain 1 for a right guess of u" has the expected gain k(u|x). *)
Definition expected (U : finType) (q : X -> R) (g : X -> U -> R) u := \sum_x q x * g x u.

(** An adversary may also roll dice: the guess u with probability d(u). *)
Definition expected_random (U : finType) q (g : X -> U -> R) (d : U -> R) := \sum_u d u * expected q g u.
End Definitions.

Section Maxima.
Variable R : realFieldType.
Implicit Types U X Y : finType.

Lemma best_ge0 U (f : U -> R) : 0 <= best f.
Proof. by rewrite /best; elim/big_rec: _ => // u m _ m0; rewrite le_maxr m0 orbT. Qed.

Lemma best_upper U (f : U -> R) u : f u <= best f.
Proof.
rewrite /best; have := mem_index_enum u; elim: (index_enum U) => // v s IH.
by rewrite in_cons big_cons le_maxr => /predU1P [-> | /IH ->]; rewrite ?lexx ?orbT.
Qed.

Lemma best_le U (f : U -> R) b : 0 <= b -> (forall u, f u <= b) -> best f <= b.
Proof. by move=> b0 fb; rewrite /best; elim/big_rec: _ => // u m _ mb; rewrite le_maxl fb mb. Qed.

Lemma best_attained U (f : U -> R) (u0 : U) : (forall u, 0 <= f u) -> exists u, best f = f u.
Proof.
move=> f0.
have [b0 | [u ->]] : best f = 0 \/ exists u, best f = f u; last by exists u.
  rewrite /best; elim/big_rec: _ => [| u m _ [-> | [v ->]]]; first by left.
  - by right; exists u; rewrite max_l.
  - by right; case: (leP (f u) (f v)) => _; [exists v | exists u].
by exists u0; apply/le_anti; rewrite best_upper b0 f0.
Qed.

Lemma eq_best U (f g : U -> R) : f =1 g -> best f = best g.
Proof. by move=> fg; apply: eq_bigr => u _; rewrite fg. Qed.

(** Dice do not help an adversary: the best guess is as good as the best mixture of guesses. So the supremum over
    P_{U^|Y=y} in Definition 1 is the maximum over guesses. *)
Theorem random_guesses U X (q : X -> R) (g : X -> U -> R) (d : U -> R) :
  distribution d -> expected_random q g d <= best (expected q g).
Proof.
case=> d0 d1; rewrite -[best _]mul1r -d1 mulr_suml.
by apply: ler_sum => u _; apply: (ler_wpmul2l (d0 u)); apply: best_upper.
Qed.

Theorem random_guesses_attained U X (q : X -> R) (g : X -> U -> R) u :
  exists2 d, distribution d & expected_random q g d = expected q g u.
Proof.
exists (fun v => (v == u)%:R).
  by split=> [v |]; [rewrite ler0n | rewrite (bigD1 u) //= eqxx big1 ?addr0 // => v /negbTE ->].
rewrite /expected_random (bigD1 u) //= eqxx mul1r big1 ?addr0 // => v /negbTE ->; exact: mul0r.
Qed.
End Maxima.

Section Promise.
Variable R : realFieldType.
Variables X Y : finType.
Variables (pi : X -> R) (w : X -> Y -> R).
Hypothesis prior : distribution pi.
Hypothesis weights : forall x y, 0 <= w x y.
Add Field field : (field_facts R).

Let pi_ge0 x : 0 <= pi x. Proof. by case: prior. Qed.
Let pi0 x : (0 < pi x) = false -> pi x = 0.
Proof. by move/negbT; rewrite -leNgt => p; apply/le_anti; rewrite p pi_ge0. Qed.

Lemma mass_ge0 y : 0 <= mass pi w y.
Proof. by apply: sumr_ge0 => x _; apply: mulr_ge0. Qed.

Lemma some_answer : exists x, 0 < pi x.
Proof.
apply/existsP; apply: contraT; rewrite negb_exists => /forallP none.
suff: (1 : R) = 0 by move/eqP; rewrite oner_eq0.
by case: prior => _ <-; apply: big1 => x _; apply: pi0; apply/negbTE/none.
Qed.

(** What is known of a report that can occur is a distribution. *)
Lemma posterior_distribution y : 0 < mass pi w y -> distribution (posterior pi w y).
Proof.
move=> m0; split=> [x |]; first by rewrite divr_ge0 ?mulr_ge0 // ltW.
by rewrite -mulr_suml divff // gt_eqF.
Qed.

(** A report that never occurs keeps every factor. *)
Lemma keeps_null c y : mass pi w y = 0 -> keeps c pi w y.
Proof.
move=> m0 x px; rewrite m0 mulr0; move/eqP: m0; rewrite /mass psumr_eq0 => [/allP/(_ x) | x' _]; last exact: mulr_ge0.
by rewrite mem_index_enum mulf_eq0 gt_eqF //= => /(_ isT) /eqP ->.
Qed.

Lemma keeps_positive c y : 0 < mass pi w y -> keeps c pi w y -> 0 < c.
Proof.
move=> m0 k; rewrite ltNge; apply/negP => c0; move: m0; rewrite ltNge => /negP; apply.
rewrite -oppr_ge0 -sumrN; apply: sumr_ge0 => x _; case px : (0 < pi x); last by rewrite (pi0 px) mul0r oppr0.
rewrite oppr_ge0 pmulr_rle0 //; apply: le_trans (k x px) _.
exact: mulr_le0_ge0 (mass_ge0 y).
Qed.

(** The column keeps c if and only if its largest lift is at most c. *)
Theorem keeps_lift c y : 0 < mass pi w y -> keeps c pi w y <-> lift pi w y <= c.
Proof.
move=> m0; split=> [k | l x px].
  apply: best_le => [| x]; first exact: ltW (keeps_positive m0 k).
  by case: ifP => px; [rewrite ler_pdivr_mulr // k | exact: ltW (keeps_positive m0 k)].
rewrite -ler_pdivr_mulr //; apply: le_trans l.
by have := best_upper (fun x => if 0 < pi x then w x y / mass pi w y else 0) x; rewrite px.
Qed.

(** ** The promise

    After report y, no guess about anything is expected to gain more than c times what the best one gained before. *)
Theorem promise c y (U : finType) (g : X -> U -> R) :
  0 < mass pi w y -> keeps c pi w y -> (forall x u, 0 <= g x u) ->
  best (expected (posterior pi w y) g) <= c * best (expected pi g).
Proof.
move=> m0 k g0; have c0 := keeps_positive m0 k.
apply: best_le => [| u]; first by rewrite mulr_ge0 ?best_ge0 ?ltW.
apply: le_trans (ler_wpmul2l (ltW c0) (best_upper (expected pi g) u)).
rewrite /expected mulr_sumr; apply: ler_sum => x _.
rewrite mulrA; apply: (ler_wpmul2r (g0 x u)); rewrite /posterior.
case px : (0 < pi x); last by rewrite (pi0 px) !(mul0r, mulr0).
by rewrite ler_pdivr_mulr // mulrAC [c * _ * _]mulrC ler_pmul2l // k.
Qed.

(** The same as a ratio, where the gain before is positive: the form of Definition 1. *)
Corollary promise_ratio c y (U : finType) (g : X -> U -> R) :
  0 < mass pi w y -> keeps c pi w y -> (forall x u, 0 <= g x u) -> 0 < best (expected pi g) ->
  best (expected (posterior pi w y) g) / best (expected pi g) <= c.
Proof. by move=> m0 k g0 b0; rewrite ler_pdivr_mulr //; apply: promise. Qed.

(** What a report makes certain was true with a probability of at least 1 / c: A is true of all answers that it leaves. *)
Theorem certain c y (A : pred X) :
  0 < mass pi w y -> keeps c pi w y -> (forall x, 0 < pi x -> ~~ A x -> w x y = 0) -> 1 <= c * \sum_(x | A x) pi x.
Proof.
move=> m0 k out; rewrite -(ler_pmul2r m0) mul1r mulrAC mulr_sumr.
rewrite {1}/mass (bigID A) /= [X in _ + X]big1 ?addr0 => [| x Ax]; last first.
  by case px : (0 < pi x); [rewrite out ?mulr0 | rewrite (pi0 px) mul0r].
apply: ler_sum => x _; case px : (0 < pi x); last by rewrite (pi0 px) mulr0 mul0r.
by rewrite [X in _ <= X]mulrC; apply: ler_wpmul2l; [exact: ltW | apply: k].
Qed.

(** With U - X - Y a Markov chain, P(U = u | Y = y) is the expected "gain" of u after y ... *)
Theorem attribute_posterior (U : finType) (k : X -> U -> R) y u :
  kernel k ->
  (\sum_x pi x * k x u * w x y) / (\sum_x \sum_v pi x * k x v * w x y) = expected (posterior pi w y) k u.
Proof.
move=> dk; have -> : \sum_x \sum_v pi x * k x v * w x y = mass pi w y.
  apply: eq_bigr => x _; under eq_bigr do rewrite mulrAC.
  by rewrite -mulr_sumr; case: (dk x) => _ ->; rewrite mulr1.
rewrite /expected mulr_suml; apply: eq_bigr => x _.
by rewrite /posterior mulrAC [in LHS]mulrAC -!mulrA; congr (_ * _); rings R.
Qed.

(** ... so a randomised attribute of x is not guessed right with more than c times the probability. *)
Corollary promise_attribute c y (U : finType) (k : X -> U -> R) :
  0 < mass pi w y -> keeps c pi w y -> kernel k ->
  best (expected (posterior pi w y) k) <= c * best (expected pi k).
Proof. by move=> m0 kp dk; apply: promise => // x u; case: (dk x). Qed.

(** ** The converse: the bound is attained

    By a gain function, the same for every report: a right guess of x gains 1 / pi(x). Any guess that is possible is
    expected to gain 1 before. *)
Definition worst_gain (x u : X) : R := if (x == u) && (0 < pi x) then (pi x)^-1 else 0.

Lemma worst_gain_before : best (expected pi worst_gain) = 1.
Proof.
have E u : expected pi worst_gain u = if 0 < pi u then 1 else 0.
  rewrite /expected (bigD1 u) //= big1 ?addr0 => [| x /negbTE xu].
    rewrite /worst_gain eqxx /=; case: ifP => pu; last by rewrite mulr0.
    by rewrite divff // gt_eqF.
  by rewrite /worst_gain xu mulr0.
apply/le_anti/andP; split; first by apply: best_le => [| u]; rewrite ?E; first exact: ler01; case: ifP; rewrite ?lexx ?ler01.
by have [x px] := some_answer; have := best_upper (expected pi worst_gain) x; rewrite E px.
Qed.

Theorem attained_by_gain :
  (forall x u, 0 <= worst_gain x u) /\ 0 < best (expected pi worst_gain) /\
  forall y, 0 < mass pi w y ->
    best (expected (posterior pi w y) worst_gain) = lift pi w y * best (expected pi worst_gain).
Proof.
split=> [x u |]; first by rewrite /worst_gain; case: ifP => // /andP [_ p]; rewrite invr_ge0 ltW.
rewrite worst_gain_before; split=> [| y m0]; first exact: ltr01.
rewrite mulr1; apply: eq_best => u; rewrite /expected (bigD1 u) //= big1 ?addr0 => [| x /negbTE xu].
  rewrite /worst_gain eqxx /posterior /=; case: ifP => pu; last by rewrite mulr0.
  by fields R; split; apply/eqP; rewrite gt_eqF.
by rewrite /worst_gain xu mulr0.
Qed.

(** So if no guess gains more than c times as much, the column keeps c. *)
Corollary promise_converse c y : 0 < mass pi w y ->
  (forall (U : finType) (g : X -> U -> R), (forall x u, 0 <= g x u) -> 0 < best (expected pi g) ->
     best (expected (posterior pi w y) g) <= c * best (expected pi g)) ->
  keeps c pi w y.
Proof.
move=> m0 all; have [g0 [b0 att]] := attained_by_gain.
by apply/(keeps_lift c m0); have := all _ _ g0 b0; rewrite att // worst_gain_before !mulr1.
Qed.

(** By a randomised attribute with its plain guessing probability. U cuts each answer x into n(x) equal parts:
    the value (x, i) is part i of x, and has a positive probability if i < n(x). *)
Definition cut (n : X -> nat) d (x : X) (u : X * 'I_d) : R := ((x == u.1) && (u.2 < n x)%N)%:R / (n x)%:R.

Lemma count_below n d : (n <= d)%N -> (\sum_(i < d) (i < n) = n)%N.
Proof.
move=> nd; rewrite -(big_mkord xpredT (fun i => (i < n : nat)%N)) (big_cat_nat _ _ _ (leq0n n) nd) /=.
rewrite [X in (_ + X)%N]big_nat_cond [X in (_ + X)%N]big1 ?addn0 => [| i]; last first.
  by rewrite andbT => /andP [ni _]; rewrite ltnNge ni.
rewrite big_nat_cond (eq_bigr (fun _ => 1%N)) => [| i]; last by rewrite andbT => /andP [_ ->].
by rewrite -big_nat_cond sum_nat_const_nat subn0 muln1.
Qed.

Lemma cut_kernel n d : (forall x, 0 < n x <= d)%N -> kernel (@cut n d).
Proof.
move=> nd x; have /andP [n0 nx] := nd x; split=> [u |]; first by rewrite divr_ge0 ?ler0n.
rewrite -mulr_suml -(pair_bigA _ (fun x' (i : 'I_d) => ((x == x') && (i < n x)%N)%:R)) /=.
rewrite (bigD1 x) //= [X in _ + X]big1 ?addr0 => [| x' /negbTE xx']; last first.
  by apply: big1 => i _; rewrite eq_sym xx'.
by rewrite eqxx /= -natr_sum count_below // divff // pnatr_eq0 -lt0n.
Qed.

Lemma expected_cut n d (q : X -> R) u :
  expected q (@cut n d) u = if (u.2 < n u.1)%N then q u.1 / (n u.1)%:R else 0.
Proof.
rewrite /expected (bigD1 u.1) //= [X in _ + X]big1 ?addr0 => [| x /negbTE xu].
  by rewrite /cut eqxx /=; case: ifP; rewrite ?mul1r // mul0r mulr0.
by rewrite /cut xu mul0r mulr0.
Qed.

(** For a rational prior, pi(x) = n(x) / d: cut x into n(x) parts. Each part has the probability 1 / d before, and
    this one attribute attains the lift of every report. (An answer with n(x) = 0 stays whole, with probability 0.) *)
Theorem attained_by_attribute (n : X -> nat) d :
  (forall x, pi x = (n x)%:R / d%:R) -> (0 < d)%N ->
  let k := @cut (fun x => maxn 1 (n x)) d in
  [/\ kernel k, forall u, expected pi k u = if (u.2 < n u.1)%N then 1 / d%:R else 0, 0 < best (expected pi k) &
    forall y, 0 < mass pi w y -> best (expected (posterior pi w y) k) = lift pi w y * best (expected pi k)].
Proof.
move=> pin d0; have dR : 0 < d%:R :> R by rewrite ltr0n.
set n' := fun x => maxn 1 (n x); have n'E x : n' x = if n x == 0%N then 1%N else n x.
  by rewrite /n'; case: (n x) => // k; rewrite maxnSS max0n.
have nd x : (n x <= d)%N.
  have [_ p1] := prior; have : pi x <= 1 by rewrite -p1 (bigD1 x) //= ler_addl sumr_ge0.
  by rewrite pin ler_pdivr_mulr // mul1r ler_nat.
have n'd x : (0 < n' x <= d)%N by rewrite n'E; case: eqP => [_ | /eqP]; rewrite ?d0 ?lt0n // => ->; apply: nd.
have part q (c : X -> R) u : (forall x, q x = pi x * c x) ->
    expected q (@cut n' d) u = if (u.2 < n u.1)%N then c u.1 / d%:R else 0.
  move=> qc; rewrite expected_cut n'E qc pin; case: eqP => [-> | /eqP n0].
    by rewrite ltn0 !mul0r if_same.
  by case: ifP => // _; fields R; split; apply/eqP; rewrite pnatr_eq0 // -lt0n.
have before u : expected pi (@cut n' d) u = if (u.2 < n u.1)%N then 1 / d%:R else 0.
  by apply: (part pi (fun=> 1)) => x; rewrite mulr1.
have e0 : best (expected pi (@cut n' d)) = d%:R^-1.
  apply/le_anti/andP; split.
    by apply: best_le => [| u]; rewrite ?before; [| case: ifP]; rewrite ?div1r ?invr_ge0 ?ler0n.
  have [x px] := some_answer; have nx : (0 < n x)%N.
    by move: px; rewrite pin pmulr_lgt0 ?invr_gt0 // ltr0n.
  by have := best_upper (expected pi (@cut n' d)) (x, Ordinal d0); rewrite before /= nx div1r.
split=> [|| | y m0] //; [exact: cut_kernel | by rewrite e0 invr_gt0 |].
have E u : expected (posterior pi w y) (@cut n' d) u =
    if (u.2 < n u.1)%N then (w u.1 y / mass pi w y) / d%:R else 0.
  by apply: (part _ (fun x => w x y / mass pi w y)) => x; rewrite mulrA.
have l0 : 0 <= lift pi w y by apply: best_ge0.
rewrite e0; apply/le_anti/andP; split.
  apply: best_le => [| u]; first by rewrite mulr_ge0 // invr_ge0 ler0n.
  rewrite E; case: ifP => un; last by rewrite mulr_ge0 // invr_ge0 ler0n.
  apply: ler_wpmul2r; first by rewrite invr_ge0 ler0n.
  have := best_upper (fun x => if 0 < pi x then w x y / mass pi w y else 0) u.1.
  by rewrite pin divr_gt0 ?ltr0n // (leq_ltn_trans _ un).
rewrite -ler_pdivl_mulr ?invr_gt0 // invrK; apply: best_le => [| x].
  by rewrite mulr_ge0 ?best_ge0 // ler0n.
case: ifP => px; last by rewrite mulr_ge0 ?best_ge0 // ler0n.
have nx : (0 < n x)%N by move: px; rewrite pin pmulr_lgt0 ?invr_gt0 // ltr0n.
have := best_upper (expected (posterior pi w y) (@cut n' d)) (x, Ordinal d0).
by rewrite E /= nx ler_pdivr_mulr // mulrC.
Qed.
End Promise.

(** For any prior of an Archimedean field, real numbers among them: keep one answer with the largest lift whole, and
    cut every other one into parts that are no more likely than it. *)
Section Archimedean.
Variable R : archiFieldType.
Variables X Y : finType.

Theorem attained_by_attribute_archimedean (pi : X -> R) (w : X -> Y -> R) y :
  distribution pi -> (forall x y, 0 <= w x y) -> 0 < mass pi w y ->
  exists (m : X -> nat) d z, let k := @cut R X m d in
    [/\ kernel k, m z = 1%N /\ lift pi w y = w z y / mass pi w y, 0 < pi z, best (expected pi k) = pi z &
      best (expected (posterior pi w y) k) = lift pi w y * best (expected pi k)].
Proof.
move=> prior w0 m0; have [pi0 pi1] := prior.
pose l x := if 0 < pi x then w x y / mass pi w y else 0.
have [x1 _] := some_answer prior.
have l0 x : 0 <= l x by rewrite /l; case: ifP => // _; rewrite divr_ge0 // ltW.
have lp : 0 < lift pi w y.
  by have k : keeps (lift pi w y) pi w y; [apply/(keeps_lift prior w0) | apply: (keeps_positive prior w0 m0 k)].
have [z lz] : exists z, lift pi w y = l z := best_attained x1 l0.
have pz : 0 < pi z by move: lp; rewrite lz /l; case: ifP => //; rewrite ltxx.
pose n x := (Num.bound (pi x / pi z)).+1; pose n1 x := if x == z then 1%N else n x.
pose d := (\max_x n1 x)%N; have nd x : (0 < n1 x <= d)%N by rewrite (leq_bigmax x) andbT /n1; case: eqP.
have dz : (0 < d)%N by case/andP: (nd z); apply: leq_trans.
have small x : pi x / (n1 x)%:R <= pi z.
  rewrite ler_pdivr_mulr ?ltr0n; last by case/andP: (nd x).
  rewrite /n1; case: eqP => [-> | _]; first by rewrite mulr1.
  rewrite mulrC -ler_pdivr_mulr //; apply: le_trans (_ : (Num.bound (pi x / pi z))%:R <= _).
    by apply/ltW/archi_boundP; rewrite divr_ge0 // ltW.
  by rewrite ler_nat /n.
have b1 : best (expected pi (@cut R X n1 d)) = pi z.
  apply/le_anti/andP; split; first by apply: best_le => [| u]; rewrite ?expected_cut; [| case: ifP].
  have := best_upper (expected pi (@cut R X n1 d)) (z, Ordinal dz).
  by rewrite expected_cut /n1 /= eqxx /= divr1.
have ck := cut_kernel R nd; have lzE : lift pi w y = w z y / mass pi w y by rewrite lz /l pz.
exists n1, d, z; split=> //; first by rewrite /n1 eqxx.
rewrite b1; apply/le_anti/andP; split.
  by rewrite -b1; apply: promise_attribute => //; apply/(keeps_lift prior w0).
have := best_upper (expected (posterior pi w y) (@cut R X n1 d)) (z, Ordinal dz).
rewrite expected_cut /n1 /= eqxx /= divr1.
by have -> : lift pi w y * pi z = posterior pi w y z by rewrite lzE /posterior mulrC mulrA.
Qed.

(** So the bound on attributes alone, Definition 1 of the paper, already says that the column keeps c. *)
Corollary promise_converse_attribute (pi : X -> R) (w : X -> Y -> R) c y :
  distribution pi -> (forall x y, 0 <= w x y) -> 0 < mass pi w y ->
  (forall (U : finType) (k : X -> U -> R), kernel k ->
     best (expected (posterior pi w y) k) <= c * best (expected pi k)) ->
  keeps c pi w y.
Proof.
move=> prior w0 m0 all; have [m [d [z [ck _ pz b att]]]] := attained_by_attribute_archimedean prior w0 m0.
by apply/(keeps_lift prior w0 c m0); have := all _ _ ck; rewrite att b ler_pmul2r.
Qed.
End Archimedean.
