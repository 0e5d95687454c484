(** * The draw: the table that is built from a row of weights gives every report exactly its weight

    A row of weights that sum to 2^62 becomes 2^b buckets of equal size, each with a threshold and an alias. A word
    chooses a bucket by its first bits; the next bits are below the threshold or not. The program is that of
    docs/api/file-format.md, step by step, in whole numbers; [extract.v] turns it into OCaml. *)

From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** The program *)
Section Program.
Local Open Scope Z_scope.
Variable size : Z. (* of each bucket *)

(** An outcome with its weight; an entry: a bucket with its threshold and its alias. *)
Definition item := (nat * Z)%type.
Definition entry := (nat * (Z * nat))%type.

(** The heavy outcome h still has r to put into buckets. While that is less than a bucket, it fills its own as far as it
    goes, and the next heavy outcome gives the rest. *)
Fixpoint settle (h : nat) (r : Z) (heavy : seq item) : seq entry * (nat * Z * seq item) :=
  if r <? size then
    if heavy is (g, w) :: heavy' then
      let (entries, left) := settle g (w - (size - r)) heavy' in ((h, (r, g)) :: entries, left)
    else ([::], (h, r, [::]))
  else ([::], (h, r, heavy)).

(** Each light outcome fills its bucket as far as it goes, and the current heavy one gives the rest. In the end, the
    buckets that are left belong to the heavy outcomes that are left. *)
Fixpoint fill (light : seq item) (h : nat) (r : Z) (heavy : seq item) : seq entry :=
  let (entries, left) := settle h r heavy in
  let '(h', r', heavy') := left in
  entries ++
  if light is (j, w) :: light' then (j, (w, h')) :: fill light' h' (r' - (size - w)) heavy'
  else [seq (g, (size, g)) | g <- h' :: [seq i.1 | i <- heavy']].

Definition entries_of (items : seq item) : seq entry :=
  let heavy := [seq i <- items | size <=? i.2] in
  let light := [seq i <- items | i.2 <? size] in
  if heavy is (h, r) :: heavy' then fill light h r heavy' else [::].

Fixpoint entry_of (entries : seq entry) (j : nat) : Z * nat :=
  if entries is e :: entries' then if Nat.eqb e.1 j then e.2 else entry_of entries' j else (0, j).

(** The table of [buckets] entries; outcomes beyond the weights have the weight 0. *)
Definition padded (buckets : nat) (weights : seq Z) : seq item :=
  [seq (j, nth 0 weights j) | j <- iota 0 buckets].
Definition build (buckets : nat) (weights : seq Z) : seq (Z * nat) :=
  let entries := entries_of (padded buckets weights) in
  [seq entry_of entries j | j <- iota 0 buckets].

(** The outcome of u, a number below buckets * size. *)
Definition drawn (table : seq (Z * nat)) (u : Z) : nat :=
  let bucket := Z.to_nat (u / size) in
  let e := nth (0, 0%N) table bucket in
  if u mod size <? e.1 then bucket else e.2.
End Program.

(** With b bits for the bucket: a word of 64 bits, of which the last two are not used. *)
Definition bucket_size (b : nat) : Z := (2 ^ (62 - Z.of_nat b))%Z.
Definition buckets (b : nat) : nat := Z.to_nat (2 ^ Z.of_nat b)%Z.
Definition table (b : nat) (weights : seq Z) : seq (Z * nat) := build (bucket_size b) (buckets b) weights.
Definition report (b : nat) (table : seq (Z * nat)) (word : Z) : nat :=
  let bucket := Z.to_nat (Z.shiftr word (64 - Z.of_nat b)) in
  let rest := (Z.shiftr word 2 mod bucket_size b)%Z in
  let e := nth (0%Z, 0%N) table bucket in
  if (rest <? e.1)%Z then bucket else e.2.

Arguments Z.of_nat : simpl never.
Arguments Z.add : simpl never.
Arguments Z.sub : simpl never.
Arguments Z.mul : simpl never.

(** ** Sums *)
Definition Z_eqMixin := EqMixin Z.eqb_spec.
Canonical Z_eqType := EqType Z Z_eqMixin.

Section Sums.
Local Open Scope Z_scope.
Definition sum (T : Type) (f : T -> Z) (s : seq T) : Z := foldr (fun x total => f x + total) 0 s.

Lemma sum_cat T f (s t : seq T) : sum f (s ++ t) = sum f s + sum f t.
Proof. by elim: s => //= x s ->; lia. Qed.

Lemma sum_map T S (g : S -> T) f s : sum f (map g s) = sum (fun x => f (g x)) s.
Proof. by elim: s => //= x s ->. Qed.

Lemma eq_sum_in (T : eqType) (f g : T -> Z) (s : seq T) : {in s, f =1 g} -> sum f s = sum g s.
Proof.
elim: s => //= x s IH fg; rewrite IH ?fg ?mem_head // => y ys; by apply: fg; rewrite in_cons ys orbT.
Qed.

Lemma sum_perm (T : eqType) (f : T -> Z) (s t : seq T) : perm_eq s t -> sum f s = sum f t.
Proof. by apply: catCA_perm_subst => a b c; rewrite !sum_cat; lia. Qed.

Lemma sum_filter T f (p : pred T) s : sum f s = sum f (filter p s) + sum f (filter (predC p) s).
Proof. by elim: s => //= x s ->; case: (p x) => /=; lia. Qed.

Definition one_if (p : bool) (x : Z) : Z := if p then x else 0.
End Sums.

(** ** The table *)
Section Table.
Local Open Scope Z_scope.
Variable size : Z.
Hypothesis size_gt0 : 0 < size.

(** What a table gives to the outcome y: thresholds of its own bucket, and the rest of those whose alias it is. *)
Definition given (y : nat) (e : entry) : Z := one_if (e.1 == y) e.2.1 + one_if (e.2.2 == y) (size - e.2.1).
Definition weight_of (y : nat) (i : item) : Z := one_if (i.1 == y) i.2.
Definition good (e : entry) : bool := (0 <=? e.2.1) && (e.2.1 <=? size).
Definition mass (s : seq item) := sum snd s.
Definition heavies := all (fun i : item => size <=? i.2).
Definition lights := all (fun i : item => (0 <=? i.2) && (i.2 <? size)).
Definition names : seq item -> seq nat := map fst.
Definition targets : seq entry -> seq nat := map fst.

Notation count_of s := (Z.of_nat (seq.size s)).

Lemma count_cons n : Z.of_nat n.+1 * size = Z.of_nat n * size + size.
Proof. by rewrite Nat2Z.inj_succ Z.mul_succ_l. Qed.

Lemma heavies_mass s : heavies s -> count_of s * size <= mass s.
Proof. elim: s => [| i s IH] // /andP [/Z.leb_le hi /IH]; rewrite /mass /= count_cons; lia. Qed.

Lemma lights_mass s : lights s -> mass s <= count_of s * size.
Proof. elim: s => [| i s IH] // /andP [/andP [_ /Z.ltb_lt hi] /IH]; rewrite /mass /= count_cons; lia. Qed.

Lemma heavies_equal s : heavies s -> mass s <= count_of s * size -> all (fun i => i.2 =? size) s.
Proof.
elim: s => [| i s IH] // /andP [/Z.leb_le hi hs]; have := heavies_mass hs; rewrite /mass /= count_cons => h1 h2.
by apply/andP; split; [apply/Z.eqb_eq; lia | apply: IH => //; rewrite /mass; lia].
Qed.

(** Heavy outcomes never run out, because masses add up to what the buckets hold. *)
Lemma settled h r heavy : 0 <= r -> heavies heavy -> (1 + count_of heavy) * size <= r + mass heavy ->
  let '(entries, (h', r', heavy')) := settle size h r heavy in
  [/\ size <= r', heavies heavy', all good entries,
      r' + mass heavy' + count_of entries * size = r + mass heavy /\ count_of entries + count_of heavy' = count_of heavy &
      targets entries ++ h' :: names heavy' = h :: names heavy /\
      forall y, sum (given y) entries + one_if (h' == y) r' + sum (weight_of y) heavy' =
        one_if (h == y) r + sum (weight_of y) heavy].
Proof.
have stay h' r' heavy' : size <= r' -> settle size h' r' heavy' = ([::], (h', r', heavy')).
  by move=> big; case: heavy' => [| [g w] heavy'] /=; rewrite (proj2 (Z.ltb_ge r' size) big).
elim: heavy h r => [| [g w] heavy IH] h r r0 hh en; case: (Z.le_gt_cases size r) => big.
- by rewrite stay //; split=> //; rewrite /=; split=> //; lia.
- by move: en; rewrite /mass /=; lia.
- by rewrite stay //; split=> //; rewrite /=; split=> //; lia.
rewrite /= (proj2 (Z.ltb_lt r size) big); move: hh en => /andP [/Z.leb_le /= gw hh] en.
have r1 : 0 <= w - (size - r) by lia.
have en1 : (1 + count_of heavy) * size <= w - (size - r) + mass heavy.
  by move: en; rewrite /mass /= !Z.mul_add_distr_r count_cons; lia.
have := IH g _ r1 hh en1; case: (settle _ _ _ _) => entries [[h' r'] heavy'] [sr hh' ge [m1 m2] [e1 e2]].
split=> //.
- by rewrite /= ge andbT /good /=; apply/andP; split; apply/Z.leb_le; lia.
- split; first by move: m1; rewrite /mass /= count_cons; lia.
  by rewrite /= !Nat2Z.inj_succ; lia.
split=> [| y]; first by rewrite /= e1.
have := e2 y; rewrite /given /weight_of /one_if /=; case: (h == y); case: (g == y); lia.
Qed.

Lemma filled light h r heavy : 0 <= r -> heavies heavy -> lights light ->
  r + mass heavy + mass light = (1 + count_of heavy + count_of light) * size ->
  let entries := fill size light h r heavy in
  [/\ all good entries, perm_eq (targets entries) (h :: names heavy ++ names light) &
      forall y, sum (given y) entries = one_if (h == y) r + sum (weight_of y) heavy + sum (weight_of y) light].
Proof.
elim: light h r heavy => [| [j w] light IH] h r heavy r0 hh ll total /=.
  have en : (1 + count_of heavy) * size <= r + mass heavy.
    by move: total; rewrite /mass /= !Z.add_0_r; lia.
  have := settled h r0 hh en; case: (settle _ _ _ _) => entries [[h' r'] heavy'] [sr hh' ge [m1 m2] [e1 e2]].
  have hm := heavies_mass hh'.
  have left : r' + mass heavy' = (1 + count_of heavy') * size by move: total m1; rewrite /mass /= -m2 Z.add_0_r Z.add_0_r !Z.mul_add_distr_r; lia.
  have re : r' = size by lia.
  have eq : all (fun i => i.2 =? size) heavy' by apply: heavies_equal => //; lia.
  split=> [| | y].
  - have gs g : good (g, (size, g)) by rewrite /good /= Z.leb_refl andbT; apply/Z.leb_le; lia.
    by rewrite all_cat ge /= gs all_map; apply/allP => g _; apply: gs.
  - rewrite cats0 -e1 /targets map_cat /= -!map_comp; exact: perm_refl.
  have last : sum (given y) [seq (g, (size, g)) | g <- [seq i.1 | i <- heavy']] = sum (weight_of y) heavy'.
    move: eq; elim: heavy' {m1 m2 e1 e2 hh' hm left} => //= i s IHs /andP [/Z.eqb_eq ei /IHs ->].
    by rewrite /given /weight_of ei /one_if /=; case: (_ == _); lia.
  rewrite sum_cat /= last Z.add_0_r -e2 -re /given /=.
  rewrite /one_if; case: (h' == y); lia.
have /andP [/andP [/Z.leb_le /= w0 /Z.ltb_lt /= w1] ll'] : lights ((j, w) :: light) := ll.
have lm := lights_mass ll.
have en : (1 + count_of heavy) * size <= r + mass heavy by move: total lm; rewrite !Z.mul_add_distr_r; lia.
have := settled h r0 hh en; case: (settle _ _ _ _) => entries [[h' r'] heavy'] [sr hh' ge [m1 m2] [e1 e2]].
have r1 : 0 <= r' - (size - w) by lia.
have total' : r' - (size - w) + mass heavy' + mass light = (1 + count_of heavy' + count_of light) * size.
  by move: total m1; rewrite /mass /= Nat2Z.inj_succ -m2 /Z.succ !Z.mul_add_distr_r; lia.
have [g1 p1 s1] := IH h' _ _ r1 hh' ll' total'.
split=> [| | y].
- rewrite all_cat ge /= g1 andbT /good /=; apply/andP; split; apply/Z.leb_le; lia.
- rewrite /targets map_cat /= -/(targets _) -/(targets _) -cat1s.
  apply: perm_trans (_ : perm_eq (targets entries ++ [:: j] ++ h' :: names heavy' ++ names light) _).
    by rewrite !perm_cat2l.
  have -> : h :: names heavy ++ j :: names light = (h :: names heavy) ++ [:: j] ++ names light by [].
  rewrite -e1 -catA perm_cat2l; apply/permPl; exact: (perm_catCA [:: j] (h' :: names heavy')).
have gj : given y (j, (w, h')) = one_if (j == y) w + one_if (h' == y) (size - w) by [].
have wj : weight_of y (j, w) = one_if (j == y) w by [].
rewrite sum_cat /= s1 gj wj; have := e2 y; rewrite /one_if.
by case: (h' == y); case: (j == y); lia.
Qed.

(** Every bucket has one entry, and every outcome is given its weight. *)
Lemma entries_exact (items : seq item) : items != [::] -> all (fun i => 0 <=? i.2) items ->
  mass items = count_of items * size ->
  let entries := entries_of size items in
  [/\ all good entries, perm_eq (targets entries) (names items) &
      forall y, sum (given y) entries = sum (weight_of y) items].
Proof.
move=> some pos total; rewrite /entries_of.
set heavy := filter _ _; set light := filter _ _.
have hh : heavies heavy by apply: filter_all.
have comp : light = [seq i <- items | predC (fun i => size <=? i.2) i].
  by apply: eq_filter => i /=; rewrite Z.leb_antisym negbK.
have ll : lights light.
  apply/allP => i; rewrite mem_filter => /andP [-> ii]; rewrite andbT; exact: (allP pos).
have perm : perm_eq (names heavy ++ names light) (names items).
  by rewrite /names -map_cat comp; apply/perm_map; rewrite perm_filterC.
have sums f : sum f items = sum f heavy + sum f light by rewrite comp -sum_filter.
have counts : count_of items = count_of heavy + count_of light.
  by rewrite -Nat2Z.inj_add -(size_map fst items) -(perm_size perm) size_cat !size_map.
case e : heavy => [| [h r] heavy'].
  have : mass light = count_of light * size.
    by move: total; rewrite counts /mass sums e /= !Z.add_0_l.
  have : light != [::].
    by apply: contra some => /eqP le; move: (perm_size perm); rewrite e le /= size_map; case: (items).
  move: ll; case: (light) => // [[j w] l] /andP [/andP [_ /Z.ltb_lt w1] l1] _ m; exfalso.
  by move: w1 m (lights_mass l1); rewrite /mass /= count_cons; move: (sum snd l) (count_of l * size)%Z; lia.
move: hh; rewrite e => /andP [/Z.leb_le /= rs hh].
have r0 : 0 <= r by lia.
have tot : r + mass heavy' + mass light = (1 + count_of heavy' + count_of light) * size.
  by move: total; rewrite counts /mass sums e /= Nat2Z.inj_succ /Z.succ [(_ + 1)%Z]Z.add_comm.
have [g p s] := filled h r0 hh ll tot.
split=> // [| y].
  by apply: perm_trans p _; rewrite -cat_cons; move: perm; rewrite e.
by rewrite s sums e.
Qed.

(** In the order of the buckets. *)
Lemma entry_of_in entries e : uniq (targets entries) -> e \in entries -> entry_of entries e.1 = e.2.
Proof.
elim: entries => //= d entries IH /andP [new u]; rewrite in_cons => /predU1P [-> | ee].
  by rewrite (proj2 (Nat.eqb_eq _ _)).
case: Nat.eqb_spec => [de | _]; last exact: IH.
by case/negP: new; rewrite de; apply: map_f.
Qed.

Lemma sum_ordered (f : entry -> Z) entries n : perm_eq (targets entries) (iota 0 n) ->
  sum (fun j => f (j, entry_of entries j)) (iota 0 n) = sum f entries.
Proof.
move=> p; have u : uniq (targets entries) by rewrite (perm_uniq p) iota_uniq.
rewrite -(sum_perm _ p) /targets sum_map; apply: eq_sum_in => e ee.
by rewrite (entry_of_in u ee) -surjective_pairing.
Qed.

Lemma sum_nth (w : seq Z) n : (seq.size w <= n)%N -> sum (nth 0 w) (iota 0 n) = sum id w.
Proof.
elim: w n => [| x w IH] n; first by move=> _; elim: (iota 0 n) => //= j s ->; rewrite nth_nil.
by case: n => // n wn; rewrite /= -(IH n) // (iotaDl 1 0 n) sum_map.
Qed.

Lemma sum_pick (f : nat -> Z) y n : sum (fun j => one_if (j == y) (f j)) (iota 0 n) = one_if (y < n)%N (f y).
Proof.
elim: n => // n IH; rewrite -addn1 iotaD sum_cat IH /= add0n addn1 ltnS /one_if.
by case: (ltngtP y n) => [h | h | ->] /=; lia.
Qed.

Variables (n : nat) (w : seq Z).
Hypotheses (n_gt0 : (0 < n)%N) (w_size : (seq.size w <= n)%N) (w_ge0 : forall j, 0 <= nth 0 w j).
Hypothesis w_sum : sum id w = Z.of_nat n * size.
Notation table := (build size n w).

Lemma table_entries :
  (forall j, (j < n)%N -> good (j, nth (0, 0%N) table j)) /\
  forall y, sum (fun j => given y (j, nth (0, 0%N) table j)) (iota 0 n) = nth 0 w y.
Proof.
have some : padded n w != [::] by rewrite -size_eq0 size_map size_iota -lt0n.
have pos : all (fun i : item => 0 <=? i.2) (padded n w).
  by apply/allP => _ /mapP [j _ ->]; apply/Z.leb_le/w_ge0.
have total : mass (padded n w) = Z.of_nat (seq.size (padded n w)) * size.
  by rewrite /mass /padded sum_map size_map size_iota -w_sum -(sum_nth w_size).
have [g p s] := entries_exact some pos total.
have names_n : names (padded n w) = iota 0 n by rewrite /names /padded -map_comp map_id.
rewrite names_n in p.
have nth_table j : (j < n)%N -> nth (0, 0%N) table j = entry_of (entries_of size (padded n w)) j.
  by move=> jn; rewrite (nth_map 0%N) ?size_iota // nth_iota.
split=> [j jn | y].
  rewrite nth_table //; have : j \in targets (entries_of size (padded n w)) by rewrite (perm_mem p) mem_iota.
  case/mapP => e ee ->; rewrite (entry_of_in _ ee) ?(perm_uniq p) ?iota_uniq // -surjective_pairing.
  exact: (allP g).
rewrite (eq_sum_in (g := fun j => given y (j, entry_of (entries_of size (padded n w)) j))) => [| j]; last first.
  by rewrite mem_iota => /= jn; rewrite nth_table.
rewrite (sum_ordered (given y) p) s /padded sum_map /weight_of /= (sum_pick (nth 0 w)) /one_if.
by case: ltnP => // ny; rewrite nth_default // (leq_trans w_size).
Qed.

Lemma count_threshold (p q : bool) t m : 0 <= t <= Z.of_nat m ->
  Z.of_nat (count (fun r => if Z.of_nat r <? t then p else q) (iota 0 m)) = one_if p t + one_if q (Z.of_nat m - t).
Proof.
move=> tm; suff : Z.of_nat (count (fun r => if Z.of_nat r <? t then p else q) (iota 0 m)) =
    one_if p (Z.min t (Z.of_nat m)) + one_if q (Z.of_nat m - Z.min t (Z.of_nat m)).
  by move=> ->; rewrite Z.min_l; lia.
have t0 : 0 <= t by lia.
elim: m {tm} => [| m IH]; first by rewrite /one_if /=; case: p; case: q; lia.
rewrite -addn1 iotaD count_cat Nat2Z.inj_add IH /= add0n !Nat2Z.inj_add /one_if.
by case: Z.ltb_spec => h; case: (p) (q) => [] [] /=; lia.
Qed.

Let size_nat : Z.of_nat (Z.to_nat size) = size.
Proof. by rewrite Z2Nat.id //; lia. Qed.

Lemma drawn_at j r : (r < Z.to_nat size)%N ->
  drawn size table (Z.of_nat (j * Z.to_nat size + r)) =
  if Z.of_nat r <? (nth (0, 0%N) table j).1 then j else (nth (0, 0%N) table j).2.
Proof.
move=> /ltP rs; have u : Z.of_nat (j * Z.to_nat size + r) = size * Z.of_nat j + Z.of_nat r.
  by rewrite Nat2Z.inj_add Nat2Z.inj_mul size_nat Z.mul_comm.
have r1 : 0 <= Z.of_nat r < size by lia.
have q : Z.of_nat (j * Z.to_nat size + r) / size = Z.of_nat j by symmetry; apply: (Z.div_unique _ _ _ (Z.of_nat r)); lia.
have m : Z.of_nat (j * Z.to_nat size + r) mod size = Z.of_nat r.
  by symmetry; apply: (Z.mod_unique _ _ (Z.of_nat j)); lia.
by rewrite /drawn q m Nat2Z.id.
Qed.

(** Of the n * size numbers, exactly w(y) give y. *)
Theorem draw_exact y :
  count (fun u => drawn size table (Z.of_nat u) == y) (iota 0 (n * Z.to_nat size)) = Z.to_nat (nth 0 w y).
Proof.
have [g s] := table_entries; apply: Nat2Z.inj; rewrite Z2Nat.id // -s.
suff blocks k : (k <= n)%N ->
    Z.of_nat (count (fun u => drawn size table (Z.of_nat u) == y) (iota 0 (k * Z.to_nat size))) =
    sum (fun j => given y (j, nth (0, 0%N) table j)) (iota 0 k) by apply: blocks.
elim: k => // k IH kn; rewrite mulSnr iotaD count_cat Nat2Z.inj_add IH; last exact: ltnW.
rewrite -[in RHS]addn1 iotaD sum_cat; congr (_ + _); rewrite /= add0n.
have /andP [/Z.leb_le t0 /Z.leb_le t1] := g k kn.
have := @count_threshold (k == y) ((nth (0, 0%N) table k).2 == y) (nth (0, 0%N) table k).1 (Z.to_nat size).
rewrite size_nat => /(_ (conj t0 t1)) ct; rewrite Z.add_0_r /given /= -ct -{1}[(k * _)%N]addn0 iotaDl count_map.
congr Z.of_nat; apply: eq_in_count => r; rewrite mem_iota /= add0n => rs; rewrite drawn_at //.
by case: ifP.
Qed.
End Table.

(** The library writes a full bucket as one with the threshold 0 that is its own alias: a threshold then takes no bit
    more than a number below [size]. It draws the same. *)
Section Encoding.
Local Open Scope Z_scope.

Definition encoded (size : Z) (table : seq (Z * nat)) : seq (Z * nat) :=
  [seq (let e := nth (0, 0%N) table j in if e.1 =? size then (0, j) else e) | j <- iota 0 (seq.size table)].

Theorem encoded_draws size table u : 0 < size -> 0 <= u < Z.of_nat (seq.size table) * size ->
  drawn size (encoded size table) u = drawn size table u.
Proof.
move=> s0 [u0 u1]; rewrite /drawn; set j := Z.to_nat (u / size).
have jn : (j < seq.size table)%N.
  apply/ltP; rewrite /j; have := Z.div_lt_upper_bound u size (Z.of_nat (seq.size table)) s0.
  have := Z.div_pos u size u0 s0; lia.
rewrite /encoded (nth_map 0%N) ?size_iota // nth_iota //= add0n.
case: Z.eqb_spec => //= ->; have [r0 r1] := Z.mod_pos_bound u size s0.
by rewrite (proj2 (Z.ltb_lt _ _) r1) if_same.
Qed.
End Encoding.

(** ** Words of 64 bits

    Whatever the last two bits are, exactly w(y) of the 2^62 words give y: from a table, and from one as C stores it. *)
Definition stored (b : nat) (weights : seq Z) : seq (Z * nat) := encoded (bucket_size b) (table b weights).

Section Words.
Variables (b : nat) (w : seq Z) (last : Z) (words : nat).
Hypotheses (b62 : (Z.of_nat b <= 62)%Z) (w_size : (Z.of_nat (size w) <= 2 ^ Z.of_nat b)%Z).
Hypotheses (w_ge0 : (forall j, 0 <= nth 0%Z w j)%Z) (w_sum : sum id w = (2 ^ 62)%Z).
Hypotheses (last4 : (0 <= last < 4)%Z) (words62 : Z.of_nat words = (2 ^ 62)%Z).

Lemma size_gt0 : (0 < bucket_size b)%Z.
Proof. by apply: Z.pow_pos_nonneg => //; lia. Qed.

Lemma buckets_of : Z.of_nat (buckets b) = (2 ^ Z.of_nat b)%Z.
Proof. by rewrite Z2Nat.id //; apply/Z.lt_le_incl/Z.pow_pos_nonneg => //; lia. Qed.

Lemma whole_of : (2 ^ 62 = Z.of_nat (buckets b) * bucket_size b)%Z.
Proof. by rewrite buckets_of /bucket_size -Z.pow_add_r; [congr (2 ^ _)%Z | |]; lia. Qed.

Lemma report_drawn t u : report b t (4 * Z.of_nat u + last)%Z = drawn (bucket_size b) t (Z.of_nat u).
Proof.
rewrite /report /drawn.
have u0 : (Z.shiftr (4 * Z.of_nat u + last) 2 = Z.of_nat u)%Z.
  by rewrite Z.shiftr_div_pow2 //; symmetry; apply: (Z.div_unique _ _ _ last); lia.
have -> : (Z.shiftr (4 * Z.of_nat u + last) (64 - Z.of_nat b) = Z.of_nat u / bucket_size b)%Z.
  have -> : (64 - Z.of_nat b = 2 + (62 - Z.of_nat b))%Z by lia.
  by rewrite -Z.shiftr_shiftr ?u0 ?Z.shiftr_div_pow2 //; lia.
by rewrite u0.
Qed.

Theorem words_exact y :
  count (fun u => report b (table b w) (4 * Z.of_nat u + last)%Z == y) (iota 0 words) = Z.to_nat (nth 0%Z w y).
Proof.
have s0 := size_gt0; have whole := whole_of.
have n0 : (0 < buckets b)%N by apply/ltP; lia.
have wn : (size w <= buckets b)%N by apply/leP; have := buckets_of; lia.
have e : words = (buckets b * Z.to_nat (bucket_size b))%N.
  by apply: Nat2Z.inj; rewrite Nat2Z.inj_mul Z2Nat.id ?words62 ?whole //; lia.
rewrite e -(draw_exact s0 n0 wn w_ge0 _ y); last by rewrite w_sum.
by apply: eq_count => u; rewrite report_drawn.
Qed.

Theorem stored_exact y :
  count (fun u => report b (stored b w) (4 * Z.of_nat u + last)%Z == y) (iota 0 words) = Z.to_nat (nth 0%Z w y).
Proof.
rewrite -words_exact; apply: eq_in_count => u; rewrite mem_iota add0n => /andP [_ /ltP uw].
rewrite !report_drawn encoded_draws //; first exact: size_gt0.
by rewrite size_map size_iota -whole_of -words62; lia.
Qed.
End Words.
