(** * Every theorem with all that it assumes, in one place

    Read this beside docs/api/theorems.md. In the other files, what a section assumes becomes a hypothesis of each of its
    theorems that uses it; here nothing is implicit. A theorem that assumed more, or said less, would not fit here, and
    [make proofs] would fail. *)

From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Extremal Require Import promise sets compose optimum reports checker.
From Extremal Require draw.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** promise.v *)

Goal forall (R : realFieldType) (U X : finType) (q : X -> R) (g : X -> U -> R) (d : U -> R),
  distribution d -> expected_random q g d <= best (expected q g).
Proof. exact (@promise.random_guesses). Qed.

Goal forall (R : realFieldType) (U X : finType) (q : X -> R) (g : X -> U -> R) (u : U),
  exists2 d : U -> R, distribution d & expected_random q g d = expected q g u.
Proof. exact (@promise.random_guesses_attained). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R),
  distribution pi ->
  (forall (x : X) (y : Y), 0 <= w x y) ->
  forall (c : R) (y : Y), 0 < mass pi w y -> keeps c pi w y <-> lift pi w y <= c.
Proof. exact (@promise.keeps_lift). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R),
  distribution pi ->
  (forall (x : X) (y : Y), 0 <= w x y) ->
  forall (c : R) (y : Y) (U : finType) (g : X -> U -> R),
  0 < mass pi w y ->
  keeps c pi w y ->
  (forall (x : X) (u : U), 0 <= g x u) -> best (expected (posterior pi w y) g) <= c * best (expected pi g).
Proof. exact (@promise.promise). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R),
  distribution pi ->
  (forall (x : X) (y : Y), 0 <= w x y) ->
  forall (c : R) (y : Y) (U : finType) (g : X -> U -> R),
  0 < mass pi w y ->
  keeps c pi w y ->
  (forall (x : X) (u : U), 0 <= g x u) ->
  0 < best (expected pi g) -> best (expected (posterior pi w y) g) / best (expected pi g) <= c.
Proof. exact (@promise.promise_ratio). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R),
  distribution pi ->
  forall (c : R) (y : Y) (A : pred X),
  0 < mass pi w y ->
  keeps c pi w y -> (forall x : X, 0 < pi x -> ~~ A x -> w x y = 0) -> 1 <= c * (\sum_(x | A x) pi x).
Proof. exact (@promise.certain). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R) (U : finType)
    (k : X -> U -> R) (y : Y) (u : U),
  kernel k ->
  (\sum_x pi x * k x u * w x y) / (\sum_x \sum_v pi x * k x v * w x y) = expected (posterior pi w y) k u.
Proof. exact (@promise.attribute_posterior). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R),
  distribution pi ->
  (forall (x : X) (y : Y), 0 <= w x y) ->
  forall (c : R) (y : Y) (U : finType) (k : X -> U -> R),
  0 < mass pi w y ->
  keeps c pi w y -> kernel k -> best (expected (posterior pi w y) k) <= c * best (expected pi k).
Proof. exact (@promise.promise_attribute). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R),
  distribution pi ->
  (forall x u : X, 0 <= worst_gain pi x u) /\
  0 < best (expected pi (worst_gain pi)) /\
  (forall y : Y,
   0 < mass pi w y ->
   best (expected (posterior pi w y) (worst_gain pi)) = lift pi w y * best (expected pi (worst_gain pi))).
Proof. exact (@promise.attained_by_gain). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R),
  distribution pi ->
  (forall (x : X) (y : Y), 0 <= w x y) ->
  forall (c : R) (y : Y),
  0 < mass pi w y ->
  (forall (U : finType) (g : X -> U -> R),
   (forall (x : X) (u : U), 0 <= g x u) ->
   0 < best (expected pi g) -> best (expected (posterior pi w y) g) <= c * best (expected pi g)) ->
  keeps c pi w y.
Proof. exact (@promise.promise_converse). Qed.

Goal forall (R : realFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R),
  distribution pi ->
  forall (n : X -> nat) (d : nat),
  (forall x : X, pi x = (n x)%:R / d%:R) ->
  (0 < d)%N ->
  let k := @cut R X (fun x : X => maxn 1 (n x)) d in
  [/\ kernel k, forall u : X * 'I_d, expected pi k u = (if (u.2 < n u.1)%N then 1 / d%:R else 0),
      0 < best (expected pi k)
    & forall y : Y, 0 < mass pi w y -> best (expected (posterior pi w y) k) = lift pi w y * best (expected pi k)].
Proof. exact (@promise.attained_by_attribute). Qed.

Goal forall (R : archiFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R) (y : Y),
  distribution pi ->
  (forall (x : X) (y0 : Y), 0 <= w x y0) ->
  0 < mass pi w y ->
  exists (m : X -> nat) (d : nat) (z : X),
    let k := @cut R X m d in
    [/\ kernel k, m z = 1%N /\ lift pi w y = w z y / mass pi w y, 0 < pi z, best (expected pi k) = pi z
      & best (expected (posterior pi w y) k) = lift pi w y * best (expected pi k)].
Proof. exact (@promise.attained_by_attribute_archimedean). Qed.

Goal forall (R : archiFieldType) (X Y : finType) (pi : X -> R) (w : X -> Y -> R) (c : R) (y : Y),
  distribution pi ->
  (forall (x : X) (y0 : Y), 0 <= w x y0) ->
  0 < mass pi w y ->
  (forall (U : finType) (k : X -> U -> R),
   kernel k -> best (expected (posterior pi w y) k) <= c * best (expected pi k)) ->
  keeps c pi w y.
Proof. exact (@promise.promise_converse_attribute). Qed.

(** ** sets.v *)

Goal forall (R : realFieldType) (X : finType) (s : prior_set R X) (w : X -> R),
  proper s ->
  (exists2 pi : X -> R, member s pi & \sum_x pi x * w x = smallest_mean s w) /\
  (forall pi : X -> R, member s pi -> smallest_mean s w <= \sum_x pi x * w x).
Proof. exact (@sets.set_minimum). Qed.

Goal forall (R : realFieldType) (X : finType) (s : prior_set R X) (A : pred X),
  proper s ->
  smallest_mean s (fun x : X => (A x)%:R) =
  Num.max (\sum_(x | A x) center s x - radius s / 2)
    (Num.max (\sum_(x | A x) lower s x) (1 - \sum_(x | ~~ A x) upper s x)).
Proof. exact (@sets.least_of_answers). Qed.

Goal forall (R : realFieldType) (X Y : finType) (w : X -> Y -> R) (c : R) (s : prior_set R X) (y : Y),
  proper s -> 0 <= c -> keeps_all w c s y -> forall pi : X -> R, member s pi -> keeps c pi w y.
Proof. exact (@sets.set_certificate). Qed.

Goal forall (R : realFieldType) (X Y : finType) (w : X -> Y -> R),
  (forall (x : X) (y : Y), 0 <= w x y) ->
  forall (c : R) (s : prior_set R X) (y : Y) (U : finType) (g : X -> U -> R) (pi : X -> R),
  proper s ->
  0 <= c ->
  keeps_all w c s y ->
  member s pi ->
  0 < mass pi w y ->
  (forall (x : X) (u : U), 0 <= g x u) -> best (expected (posterior pi w y) g) <= c * best (expected pi g).
Proof. exact (@sets.set_promise). Qed.

Goal forall (R : realFieldType) (X Y : finType) (w : X -> Y -> R) (c : R) (s : prior_set R X) (y : Y),
  proper s ->
  (forall x : X, exists2 pi : X -> R, member s pi & 0 < pi x) ->
  (forall pi : X -> R, member s pi -> keeps c pi w y) -> keeps_all w c s y.
Proof. exact (@sets.set_converse). Qed.

Goal forall (R : realFieldType) (X : finType) (s : prior_set R X) (pi : X -> R),
  (forall x : X, 0 <= center s x) -> 0 < \sum_x center s x -> member s pi -> member (widened s) pi.
Proof. exact (@sets.widened_holds). Qed.

Goal forall (R : realFieldType) (X : finType) (s : prior_set R X),
  (forall x : X, 0 <= center s x) ->
  (forall x : X, 0 <= lower s x) -> 0 <= radius s -> 0 < \sum_x center s x -> proper (widened s).
Proof. exact (@sets.widened_proper). Qed.

(** ** compose.v *)

Goal forall (R : realFieldType) (X Y Z : finType) (c : R) (pi : X -> R) (P : X -> Y -> R)
    (W : Y -> Z -> R) (z : Z),
  (forall y : Y, 0 <= W y z) ->
  (forall y : Y, 0 < W y z -> keeps c pi P y) -> keeps c pi (processed P W) z.
Proof. exact (@compose.post_processing). Qed.

Goal forall (R : realFieldType) (X Y I : finType) (c : R) (pi : X -> R) (t : I -> R)
    (P : I -> X -> Y -> R) (y : Y),
  (forall i : I, 0 <= t i) -> (forall i : I, keeps c pi (P i) y) -> keeps c pi (mixed t P) y.
Proof. exact (@compose.mixture). Qed.

Goal forall (R : realFieldType) (X Y I : finType) (c : R) (pi : X -> R) (t : I -> R)
    (P : I -> X -> Y -> R) (i : I) (y : Y),
  0 <= t i -> keeps c pi (P i) y -> keeps c pi (shown t P) (i, y).
Proof. exact (@compose.mixture_shown). Qed.

Goal forall (R : realFieldType) (X Y Z : finType) (pi : X -> R) (P : X -> Y -> R)
    (Q : X -> Z -> R) (y : Y) (z : Z) (x : X),
  0 < mass pi P y -> posterior pi (joint P Q) (y, z) x = posterior (posterior pi P y) Q z x.
Proof. exact (@compose.joint_posterior). Qed.

Goal forall (R : realFieldType) (X Y Z : finType) (pi : X -> R) (P : X -> Y -> R)
    (Q : X -> Z -> R) (y : Y) (z : Z) (a b : R),
  0 < a -> 0 < b -> lift pi (fun x : X => fun=> P x y / a * (Q x z / b)) tt = lift pi (joint P Q) (y, z).
Proof. exact (@compose.composition_computes). Qed.

Goal forall (R : realFieldType) (X Y Z : finType) (pi : X -> R) (P : X -> Y -> R) (Q : X -> Z -> R),
  distribution pi ->
  (forall (x : X) (y : Y), 0 <= P x y) ->
  (forall (x : X) (z : Z), 0 <= Q x z) ->
  forall (c : R) (U : finType) (g : X -> U -> R) (y : Y) (z : Z),
  (forall (y0 : Y) (z0 : Z), 0 < mass pi (joint P Q) (y0, z0) -> lift pi (joint P Q) (y0, z0) <= c) ->
  0 < mass pi (joint P Q) (y, z) ->
  (forall (x : X) (u : U), 0 <= g x u) ->
  best (expected (posterior pi (joint P Q) (y, z)) g) <= c * best (expected pi g).
Proof. exact (@compose.two_reports). Qed.

Goal forall (R : realFieldType) (X Y Z : finType) (pi : X -> R) (P : X -> Y -> R) (Q : X -> Z -> R),
  distribution pi ->
  (forall (x : X) (y : Y), 0 <= P x y) ->
  (forall (x : X) (z : Z), 0 <= Q x z) ->
  forall (c d : R) (y : Y) (z : Z),
  0 < mass pi P y ->
  0 <= c -> keeps c pi P y -> keeps d (posterior pi P y) Q z -> keeps (c * d) pi (joint P Q) (y, z).
Proof. exact (@compose.chain). Qed.

Goal forall (R : realFieldType) (X Y Z : finType) (pi : X -> R) (P : X -> Y -> R) (Q : X -> Z -> R),
  distribution pi ->
  (forall (x : X) (y : Y), 0 <= P x y) ->
  (forall (x : X) (z : Z), 0 <= Q x z) ->
  forall (c d : R) (y : Y) (z : Z),
  keeps c pi P y ->
  0 <= c -> (forall x x' : X, Q x z <= d * Q x' z) -> 0 <= d -> keeps (c * d) pi (joint P Q) (y, z).
Proof. exact (@compose.added_with_ldp). Qed.

Goal forall (R : realFieldType) (I X Y : finType) (P : I -> X -> Y -> R),
  (forall i : I, kernel (P i)) -> kernel (together P).
Proof. exact (@compose.together_kernel). Qed.

Goal forall (R : realFieldType) (I X Y : finType) (pi : X -> R) (P : I -> X -> Y -> R),
  distribution pi ->
  (forall i : I, kernel (P i)) ->
  forall (c : R) (U : finType) (g : X -> U -> R) (f : {ffun I -> Y}),
  (forall h : {ffun I -> Y}, 0 < mass pi (together P) h -> lift pi (together P) h <= c) ->
  0 < mass pi (together P) f ->
  (forall (x : X) (u : U), 0 <= g x u) ->
  best (expected (posterior pi (together P) f) g) <= c * best (expected pi g).
Proof. exact (@compose.several_reports). Qed.

Goal forall R : realFieldType,
  [/\ lift (uniform4 R) (says R first3) true = 4 / 3, lift (uniform4 R) (says R last2) true = 2,
      lift (uniform4 R) (joint (says R first3) (says R last2)) (true, true) = 4
    & 4 / 3 * 2 < 4 :> R].
Proof. exact (@compose.sum_fails). Qed.

Goal forall R : realFieldType,
  [/\ forall y : 'I_4, lift (uniform4 R) (other R) y = 4 / 3,
      lift (uniform4 R) (joint (other R) (other R)) (inord 0, inord 1) = 2
    & 4 / 3 * (4 / 3) < 2 :> R].
Proof. exact (@compose.sum_fails_for_mechanisms). Qed.

Goal forall (R : realFieldType) (X Y O Before After : finType) (others : O -> R)
    (before : O -> Before -> R) (choose : Before -> X -> Y -> R) (after : O -> Before -> Y -> After -> R),
  distribution others ->
  kernel before ->
  (forall b : Before, kernel (choose b)) ->
  (forall (o : O) (b : Before), kernel (after o b)) -> kernel (published others before choose after).
Proof. exact (@compose.published_kernel). Qed.

Goal forall (R : realFieldType) (X Y O Before After : finType) (pi : X -> R) (others : O -> R)
    (before : O -> Before -> R) (choose : Before -> X -> Y -> R) (after : O -> Before -> Y -> After -> R),
  distribution pi ->
  distribution others ->
  kernel before ->
  (forall b : Before, kernel (choose b)) ->
  (forall (o : O) (b : Before), kernel (after o b)) ->
  forall (c : R) (set_of : Before -> prior_set R X) (b : Before) (y : Y) (a : After)
    (U : finType) (g : X -> U -> R),
  0 <= c ->
  proper (set_of b) ->
  keeps_all (choose b) c (set_of b) y ->
  member (set_of b) pi ->
  0 < mass pi (published others before choose after) (b, y, a) ->
  (forall (x : X) (u : U), 0 <= g x u) ->
  best (expected (posterior pi (published others before choose after) (b, y, a)) g) <=
  c * best (expected pi g).
Proof. exact (@compose.adaptive). Qed.

Goal forall (R : realFieldType) (X Y O Before After : finType) (others : O -> R)
    (before : O -> Before -> R) (choose : Before -> X -> Y -> R) (after : O -> Before -> Y -> After -> R),
  (forall b : Before, kernel (choose b)) ->
  (forall (o : O) (b : Before), kernel (after o b)) ->
  forall (b : Before) (x x' : X),
  \sum_y \sum_a published others before choose after x (b, y, a) =
  \sum_y \sum_a published others before choose after x' (b, y, a).
Proof. exact (@compose.before_tells_nothing). Qed.

(** ** optimum.v *)

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  (forall x : X, 0 < pi x) ->
  1 <= c -> forall i : {set X} * X, listed c pi i -> admissible c pi (vertex c pi i).
Proof. exact (@optimum.listed_admissible). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  (forall x : X, 0 < pi x) ->
  forall (i : {set X} * X) (a b : X -> R) (t : R),
  listed c pi i ->
  admissible c pi a ->
  admissible c pi b ->
  0 < t < 1 ->
  (forall x : X, vertex c pi i x = (1 - t) * a x + t * b x) -> a =1 vertex c pi i /\ b =1 vertex c pi i.
Proof. exact (@optimum.listed_vertex). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  (forall x : X, 0 < pi x) ->
  1 <= c -> forall l : X -> R, admissible c pi l -> exists t : {set X} * X -> R, mixes pi c t l.
Proof. exact (@optimum.mixture_of_vertices). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  (forall x : X, 0 < pi x) ->
  1 <= c ->
  forall l : X -> R, extreme pi c l <-> (exists2 i : {set X} * X, listed c pi i & l =1 vertex c pi i).
Proof. exact (@optimum.extreme_listed). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  1 <= c ->
  forall (k : nat) (v : {ffun X -> R}),
  (k <= #|X|)%N ->
  (forall J : {set X}, (#|J| <= #|X| - k)%N -> c * (\sum_(x in J) pi x) < 1) ->
  v \in algorithm1 pi c k <-> (exists2 i : {set X} * X, listed c pi i & v =1 vertex c pi i).
Proof. exact (@optimum.algorithm1_listed). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  distribution pi ->
  (forall x : X, 0 < pi x) ->
  1 <= c ->
  forall mu : (X -> R) -> R,
  sublinear mu ->
  forall (Y : finType) (P : X -> Y -> R),
  allowed c pi P ->
  forall price : X -> R,
  (forall i : {set X} * X, listed c pi i -> mu (vertex c pi i) <= \sum_x price x * vertex c pi i x) ->
  utility mu P <= \sum_x price x.
Proof. exact (@optimum.weak_duality). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  distribution pi ->
  (forall x : X, 0 < pi x) ->
  forall (Y : finType) (P : X -> Y -> R),
  allowed c pi P ->
  forall (y : Y) (k : nat),
  0 < mass pi P y ->
  (forall J : {set X}, (#|J| <= #|X| - k)%N -> c * (\sum_(x in J) pi x) < 1) ->
  (#|[set x | P x y == 0%R]| < k)%N.
Proof. exact (@optimum.few_zeros). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  distribution pi ->
  (forall x : X, 0 < pi x) ->
  1 <= c ->
  forall mu : (X -> R) -> R,
  sublinear mu ->
  forall (Y : finType) (P : X -> Y -> R),
  allowed c pi P ->
  exists2 rho : {set X} * X -> R, feasible pi c rho & utility mu P <= lp_value pi c mu rho.
Proof. exact (@optimum.lp_bounds). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  (forall x : X, 0 < pi x) ->
  1 <= c ->
  forall mu : (X -> R) -> R,
  sublinear mu ->
  forall rho : {set X} * X -> R,
  feasible pi c rho ->
  let P := fun (x : X) (i : {set X} * X) => rho i * vertex c pi i x in
  allowed c pi P /\ utility mu P = lp_value pi c mu rho.
Proof. exact (@optimum.lp_attained). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  distribution pi ->
  (forall x : X, 0 < pi x) ->
  1 <= c ->
  forall mu : (X -> R) -> R,
  sublinear mu -> (forall x : X, c * (1 - pi x) <= 1) -> optimal c pi mu (high_privacy pi c).
Proof. exact (@optimum.high_privacy_optimal). Qed.

Goal forall (R : realFieldType) (pi : bool -> R) (c : R) (mu : (bool -> R) -> R),
  distribution pi ->
  (forall x : bool, 0 < pi x) ->
  1 <= c -> sublinear mu -> c * pi true <= 1 -> c * pi false <= 1 -> optimal c pi mu (binary_high pi c).
Proof. exact (@optimum.binary_high_optimal). Qed.

Goal forall (R : realFieldType) (pi : bool -> R) (c : R) (mu : (bool -> R) -> R),
  distribution pi ->
  (forall x : bool, 0 < pi x) ->
  1 <= c -> sublinear mu -> 1 <= c * pi true -> c * pi false <= 1 -> optimal c pi mu (binary_low pi c).
Proof. exact (@optimum.binary_low_optimal). Qed.

Goal forall (R : realFieldType) (pi : bool -> R) (c : R) (mu : (bool -> R) -> R),
  distribution pi ->
  (forall x : bool, 0 < pi x) ->
  1 <= c ->
  sublinear mu ->
  c <= (pi false)^-1 -> optimal c pi mu (if pi true < c^-1 then binary_high pi c else binary_low pi c).
Proof. exact (@optimum.binary_optimal). Qed.

Goal forall (R : realFieldType) (pi : bool -> R) (c : R) (mu : (bool -> R) -> R),
  distribution pi ->
  (forall x : bool, 0 < pi x) ->
  1 <= c ->
  sublinear mu ->
  forall p : R,
  p = pi false -> (1 - p)^-1 <= c <= p^-1 -> optimal c pi mu (garbling ((c^-1 - p) / (1 - p))).
Proof. exact (@optimum.hard_garbling). Qed.

Goal forall (R : realFieldType) (n : nat) (c : R) (mu : ('I_n.+1 -> R) -> R),
  1 <= c ->
  sublinear mu ->
  permutation_symmetric mu ->
  forall k : nat,
  (0 < k <= n.+1)%N ->
  c * (n.+1 - k)%:R <= n.+1%:R <= c * (n.+1 - k).+1%:R ->
  optimal c (@uniform R n) mu (circular c k).
Proof. exact (@optimum.uniform_optimal). Qed.

(** ** reports.v *)

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R) (mu : (X -> R) -> R),
  sublinear mu ->
  forall (Y : finType) (P : X -> Y -> R),
  allowed c pi P -> exists2 Q : X -> X -> R, allowed c pi Q & utility mu P <= utility mu Q.
Proof. exact (@reports.cardinality). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  distribution pi ->
  forall mu : (X -> R) -> R,
  sublinear mu ->
  (forall x : X, 0 < pi x) ->
  1 <= c ->
  exists2 rho : {set X} * X -> R, feasible pi c rho &
    forall rho' : {set X} * X -> R, feasible pi c rho' -> lp_value pi c mu rho' <= lp_value pi c mu rho.
Proof. exact (@reports.lp_optimum). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  distribution pi ->
  forall mu : (X -> R) -> R,
  sublinear mu -> (forall x : X, 0 < pi x) -> 1 <= c -> exists Q : X -> X -> R, optimal c pi mu Q.
Proof. exact (@reports.optimum_exists). Qed.

Goal forall (R : realFieldType) (X : finType) (pi : X -> R) (c : R),
  distribution pi ->
  forall mu : (X -> R) -> R,
  sublinear mu ->
  (forall x : X, 0 < pi x) ->
  1 <= c ->
  forall (Y : finType) (P : X -> Y -> R),
  optimal c pi mu P ->
  exists price : X -> R,
    (forall i : {set X} * X, listed c pi i -> mu (vertex c pi i) <= \sum_x price x * vertex c pi i x) /\
    \sum_x price x = utility mu P.
Proof. exact (@reports.strong_duality). Qed.

(** ** checker.v *)

Goal forall (R : realFieldType) (level q : Z) (e : R),
  (0 <= level)%Z ->
  (0 <= q)%Z ->
  above_exp (z2r R level / z2r R (2 ^ q)) e ->
  let (a, k) := exp_below level q in z2r R a / z2r R (2 ^ k) <= e.
Proof. exact (@checker.exp_below_exp). Qed.

Goal forall (R : realFieldType) (f : numbers),
  well_formed f ->
  distribution (@file_prior R f) /\
  (forall x : 'I_(size (masses f)), 0 < @file_prior R f x) /\ kernel (@mechanism R f).
Proof. exact (@checker.file_distributions). Qed.

Goal forall (R : realFieldType) (f : numbers),
  check f <->
  well_formed f /\
  (let (a, k) := exp_below (level f) (power f) in
   let c := z2r R a / z2r R (2 ^ k) in
   forall y : 'I_(size (columns f)),
   keeps c (@file_prior R f) (@weight R f) y /\
   match set_bounds f with
   | Some b => keeps_all (@weight R f) c (widened (file_set R f b)) y
   | None => True
   end).
Proof. exact (@checker.check_exact). Qed.

Goal forall (R : realFieldType) (f : numbers) (e : R),
  check f ->
  above_exp (epsilon R f) e ->
  forall y : 'I_(size (columns f)), keeps e (@file_prior R f) (@weight R f) y.
Proof. exact (@checker.check_prior). Qed.

Goal forall (R : realFieldType) (f : numbers) (b : bounds) (e : R)
    (pi : 'I_(size (masses f)) -> R),
  check f ->
  above_exp (epsilon R f) e ->
  set_bounds f = Some b ->
  member (file_set R f b) pi ->
  forall y : 'I_(size (columns f)), keeps e pi (@weight R f) y.
Proof. exact (@checker.check_set). Qed.

Goal forall (R : realFieldType) (f : numbers) (e : R) (pi : 'I_(size (masses f)) -> R)
    (y : 'I_(size (columns f))) (U : finType) (g : 'I_(size (masses f)) -> U -> R),
  check f ->
  above_exp (epsilon R f) e ->
  pi = @file_prior R f \/ (exists2 b : bounds, set_bounds f = Some b & member (file_set R f b) pi) ->
  0 < mass pi (@mechanism R f) y ->
  (forall (x : 'I_(size (masses f))) (u : U), 0 <= g x u) ->
  best (expected (posterior pi (@mechanism R f) y) g) <= e * best (expected pi g).
Proof. exact (@checker.check_promise). Qed.

(** ** draw.v *)

Goal forall s : Z,
  (0 < s)%Z ->
  forall (n : nat) (w : seq Z),
  (0 < n)%N ->
  (size w <= n)%N ->
  (forall j : nat, (0 <= nth 0 w j)%Z) ->
  draw.sum id w = (Z.of_nat n * s)%Z ->
  forall y : nat,
  count (fun u : nat => draw.drawn s (draw.build s n w) (Z.of_nat u) == y)
    (iota 0 (n * Z.to_nat s)) = Z.to_nat (nth 0%Z w y).
Proof. exact (@draw.draw_exact). Qed.

Goal forall (s : Z) (table : seq (Z * nat)) (u : Z),
  (0 < s)%Z ->
  (0 <= u < Z.of_nat (size table) * s)%Z ->
  draw.drawn s (draw.encoded s table) u = draw.drawn s table u.
Proof. exact (@draw.encoded_draws). Qed.

Goal forall (b : nat) (w : seq Z) (last : Z) (words : nat),
  (Z.of_nat b <= 62)%Z ->
  (Z.of_nat (size w) <= 2 ^ Z.of_nat b)%Z ->
  (forall j : nat, (0 <= nth 0 w j)%Z) ->
  draw.sum id w = (2 ^ 62)%Z ->
  (0 <= last < 4)%Z ->
  Z.of_nat words = (2 ^ 62)%Z ->
  forall y : nat,
  count (fun u : nat => draw.report b (draw.table b w) (4 * Z.of_nat u + last) == y) (iota 0 words) =
  Z.to_nat (nth 0%Z w y).
Proof. exact (@draw.words_exact). Qed.

Goal forall (b : nat) (w : seq Z) (last : Z) (words : nat),
  (Z.of_nat b <= 62)%Z ->
  (Z.of_nat (size w) <= 2 ^ Z.of_nat b)%Z ->
  (forall j : nat, (0 <= nth 0 w j)%Z) ->
  draw.sum id w = (2 ^ 62)%Z ->
  (0 <= last < 4)%Z ->
  Z.of_nat words = (2 ^ 62)%Z ->
  forall y : nat,
  count (fun u : nat => draw.report b (draw.stored b w) (4 * Z.of_nat u + last) == y) (iota 0 words) =
  Z.to_nat (nth 0%Z w y).
Proof. exact (@draw.stored_exact). Qed.
