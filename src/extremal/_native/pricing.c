/* Branch and bound over the columns of a pricing problem: the inner loop of column generation. */

#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLACK 1e-15 /* weights that rounding may have moved */

/* f by chords, in three pieces: [low, mid] finer towards low, [mid, 1] and [1, high] finer towards 1.

   mid = (low + 1)/2. Row 0 of the table holds f at low + (mid - low) s^2, row 1 at 1 - (1 - mid) s^2, row 2 at
   1 + (high - 1) s^2, for s = 0, 1/cells, ..., 1: chords are close to f relative to its value near 1, and where it
   may be steep near low. */
double f_above(const problem *p, double t) {
    const double half = (1.0 - p->low) / 2.0;
    const double cells = (double)p->cells;
    const double *row = p->table;
    double u; /* s^2 */
    if (t > 1.0) {
        row += 2 * (p->cells + 1);
        u = (t - 1.0) / (p->high - 1.0);
    } else if (t > p->low + half) {
        row += p->cells + 1;
        u = (1.0 - t) / half;
    } else {
        u = larger(t - p->low, 0.0) / half;
    }
    u *= cells * cells;
    const double root = sqrt(u);
    if (!(root < cells)) return row[p->cells]; /* NaN too */
    const int64_t k = (int64_t)root;
    const double share = (u - (double)(k * k)) / (double)(2 * k + 1);
    return row[k] + (row[k + 1] - row[k]) * larger(share, 0.0);
}

void descending(int64_t n, const double *keys, int64_t *order, int64_t *spare) {
    int64_t *from = order, *to = spare;
    for (int64_t i = 0; i < n; i++) from[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t start = 0; start < n; start += 2 * width) {
            const int64_t middle = start + width < n ? start + width : n;
            const int64_t end = start + 2 * width < n ? start + 2 * width : n;
            int64_t a = start, b = middle;
            for (int64_t m = start; m < end; m++) {
                const bool first = b >= end || (a < middle && keys[from[a]] >= keys[from[b]]);
                to[m] = first ? from[a++] : from[b++];
            }
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
}

void weights_and_profits(const problem *p, double *weight, double *profit) {
    const double width = p->high - p->low;
    const double rise = p->table[3 * p->cells + 2] - p->table[0]; /* f(high) - f(low) */
    for (int64_t i = 0; i < p->n; i++) {
        weight[i] = p->pi[i] * width;
        profit[i] = p->pi[i] * rise - p->y[i] * width;
    }
}

/* All arrays of a search. Symbols are numbered as in the problem, items are the symbols other than the partial one
   by decreasing weight. The smallest `tabled` symbols stand in a table of all their subsets. */
struct workspace {
    double *weight, *profit;                  /* of symbols */
    int64_t *order, *by_profit, *spare;       /* of symbols: by decreasing weight, then profit */
    int64_t *items;                           /* their symbols */
    double *item_weight, *item_profit, *rate; /* of items */
    double *ratio, *heads, *gains;            /* row k: the items k.. sorted by ratio, with prefix sums */
    bool *chosen;                             /* the items on the way to the current node */
    double *sums, *other_sums;                /* of subsets, in increasing order */
    uint32_t *masks, *other_masks;            /* those subsets, as bits */
    double *mask_profit;                      /* of subsets, by their bits */
    double *tree, *tree_without;              /* best_gains of all subsets, and of those without one symbol */
    bool *found;                              /* each row: the chosen items of a column that is kept */
    uint32_t *found_mask;                     /* and its subset in the table */
    double *found_value;                      /* and its profit */
    void *memory;
};

/* Hands out parts of one block; run without a block first, it only counts. */
typedef struct {
    char *next;
    size_t used;
} arena;

static void *part(arena *a, int64_t count, size_t size) {
    void *start = a->next ? a->next + a->used : NULL;
    a->used += ((size_t)count * size + 15) / 16 * 16;
    return start;
}

static void lay_out(workspace *w, arena *a, int64_t n, int64_t each, int64_t tabled) {
    const int64_t subsets = (int64_t)1 << tabled, rows = n - tabled + 1;
    w->weight = part(a, n, sizeof(double));
    w->profit = part(a, n, sizeof(double));
    w->order = part(a, n, sizeof(int64_t));
    w->by_profit = part(a, n, sizeof(int64_t));
    w->spare = part(a, n, sizeof(int64_t));
    w->items = part(a, n, sizeof(int64_t));
    w->item_weight = part(a, n, sizeof(double));
    w->item_profit = part(a, n, sizeof(double));
    w->rate = part(a, n, sizeof(double));
    w->ratio = part(a, rows * n, sizeof(double));
    w->heads = part(a, rows * n, sizeof(double));
    w->gains = part(a, rows * n, sizeof(double));
    w->chosen = part(a, n, sizeof(bool));
    w->sums = part(a, subsets, sizeof(double));
    w->other_sums = part(a, subsets, sizeof(double));
    w->masks = part(a, subsets, sizeof(uint32_t));
    w->other_masks = part(a, subsets, sizeof(uint32_t));
    w->mask_profit = part(a, subsets, sizeof(double));
    w->tree = part(a, 2 * subsets, sizeof(double));
    w->tree_without = part(a, 2 * subsets, sizeof(double));
    w->found = part(a, each * n, sizeof(bool));
    w->found_mask = part(a, each, sizeof(uint32_t));
    w->found_value = part(a, each, sizeof(double));
}

workspace *new_workspace(int64_t n, int64_t each, int64_t tabled) {
    workspace *w = malloc(sizeof *w);
    if (!w) return NULL;
    arena a = {NULL, 0};
    lay_out(w, &a, n, each, tabled);
    w->memory = calloc(1, a.used);
    if (!w->memory) {
        free(w);
        return NULL;
    }
    a = (arena){w->memory, 0};
    lay_out(w, &a, n, each, tabled);
    return w;
}

void free_workspace(workspace *w) {
    if (w) free(w->memory);
    free(w);
}

/* The table: all subset sums of the `tabled` symbols in increasing order, and the subsets. */
static void subset_table(workspace *w, const int64_t *small, int64_t tabled) {
    w->sums[0] = 0.0;
    w->masks[0] = 0;
    for (int64_t i = 0; i < tabled; i++) { /* merge the subsets without symbol i and those with it */
        const double more = w->weight[small[i]];
        const int64_t half = (int64_t)1 << i;
        int64_t a = 0, b = 0;
        for (int64_t s = 0; s < 2 * half; s++) {
            const bool without = b == half || (a < half && w->sums[a] <= w->sums[b] + more);
            w->other_sums[s] = without ? w->sums[a] : w->sums[b] + more;
            w->other_masks[s] = without ? w->masks[a] : w->masks[b] | (uint32_t)half;
            if (without) a++;
            else b++;
        }
        double *sums = w->sums;
        uint32_t *masks = w->masks;
        w->sums = w->other_sums, w->other_sums = sums;
        w->masks = w->other_masks, w->other_masks = masks;
    }
    w->mask_profit[0] = 0.0;
    for (int64_t i = 0; i < tabled; i++)
        for (int64_t s = 0; s < (int64_t)1 << i; s++)
            w->mask_profit[(1 << i) | s] = w->mask_profit[s] + w->profit[small[i]];
}

/* A tournament tree over the table's subsets, in its order: the largest profit below each node. Subsets that hold a
   symbol of `banned` do not count. */
static void best_gains(const workspace *w, int64_t subsets, uint32_t banned, double *tree) {
    for (int64_t s = 0; s < subsets; s++)
        tree[subsets + s] = w->masks[s] & banned ? -INFINITY : w->mask_profit[w->masks[s]];
    for (int64_t s = subsets - 1; s > 0; s--) tree[s] = larger(tree[2 * s], tree[2 * s + 1]);
}

/* How many of the values, given in increasing order, are smaller than x. */
static int64_t count_below(int64_t count, const double *values, double x) {
    int64_t lo = 0, hi = count;
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        if (values[mid] < x) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* Items sorted by ratio, with prefix weights `heads` and prefix profits `gains`, one longer than `ratio`. */
typedef struct {
    int64_t n;
    const double *ratio, *heads, *gains;
} sorted_items;

/* How much the partial symbol can take, and what that gains: its profit lies below the line between the ends. */
typedef struct {
    double low, high, at_low, at_high;
} span;

/* The continuous knapsack over sorted items and one divisible item with a linear profit. All of `room` is used;
   callers check that it can be. */
static double relaxed(double room, sorted_items items, span j) {
    room -= j.low;
    double total = j.at_low;
    const double width = j.high - j.low;
    const double slope = width > 0.0 ? (j.at_high - j.at_low) / width : 0.0;
    int64_t lo = 0, hi = items.n; /* items before lo are better than the divisible one */
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        if (items.ratio[mid] > slope) lo = mid + 1;
        else hi = mid;
    }
    double target = room;
    if (items.heads[lo] < room) {
        const double taken = smaller(width, room - items.heads[lo]);
        total += slope * taken;
        target -= taken;
    }
    lo = 0, hi = items.n; /* the last prefix that fits into target */
    while (lo < hi) {
        const int64_t mid = (lo + hi + 1) / 2;
        if (items.heads[mid] <= target) lo = mid;
        else hi = mid - 1;
    }
    total += items.gains[lo];
    if (lo < items.n) total += (target - items.heads[lo]) * items.ratio[lo];
    return total;
}

/* The search for one partial symbol. */
typedef struct {
    const problem *p;
    workspace *w;
    double pi, y, weight, base; /* of the partial symbol; base is its value at z = 0 */
    int64_t items, big;         /* items; of them those that are branched on, the others stand in the table */
    int64_t subsets;
    const double *tree;
    int64_t each, most_nodes, stored, nodes;
    double threshold, bound;
} branching;

/* What the partial symbol gains when it takes z. */
static double partial_gain(const branching *s, double z) {
    const double t = s->p->low + z / s->pi;
    return s->pi * f_above(s->p, t) - s->y * t - s->base;
}

/* The same when it takes what is left of `room` beside a subset in the table. */
static double gain_beside(const branching *s, double room, int64_t subset) {
    return partial_gain(s, smaller(larger(room - s->w->sums[subset], 0.0), s->weight));
}

static void sort_items(branching *s) {
    workspace *w = s->w;
    for (int64_t i = 0; i < s->items; i++) w->rate[i] = w->item_profit[i] / w->item_weight[i];
    descending(s->items, w->rate, w->by_profit, w->spare);
    for (int64_t k = 0; k <= s->big; k++) {
        double *ratio = w->ratio + k * s->p->n, *heads = w->heads + k * s->p->n, *gains = w->gains + k * s->p->n;
        heads[0] = gains[0] = 0.0;
        int64_t m = 0;
        for (int64_t a = 0; a < s->items; a++) {
            const int64_t i = w->by_profit[a];
            if (i < k) continue;
            ratio[m] = w->rate[i];
            heads[m + 1] = heads[m] + w->item_weight[i];
            gains[m + 1] = gains[m] + w->item_profit[i];
            m++;
        }
    }
}

/* Whether something above the threshold may lie below the node that has decided the first k items, used `used` of the
   capacity and gained `gained`. A node that the limit cuts off raises the bound instead. */
static bool promising(branching *s, int64_t k, double used, double gained) {
    const int64_t row = k * s->p->n;
    const sorted_items rest = {s->items - k, s->w->ratio + row, s->w->heads + row, s->w->gains + row};
    const double room = s->p->capacity - used;
    span j = {larger(0.0, room - rest.heads[rest.n]), smaller(s->weight, room), 0.0, 0.0};
    s->nodes++;
    if (j.low > j.high + SLACK) return false;
    j.low = larger(smaller(j.low, j.high), 0.0);
    j.high = larger(j.high, 0.0);
    j.at_low = partial_gain(s, j.low);
    j.at_high = partial_gain(s, j.high);
    const double reach = gained + relaxed(room, rest, j);
    if (reach <= s->threshold) return false;
    if (s->nodes < s->most_nodes) return true;
    s->bound = larger(s->bound, reach);
    return false;
}

/* Keep a column; once there are as many as allowed, the worst of them goes, and what is given up from then on is no
   better than the worst that is left. */
static void keep(branching *s, uint32_t mask, double value) {
    workspace *w = s->w;
    int64_t spot = s->stored, worst = 0;
    if (s->stored == s->each) {
        for (int64_t i = 1; i < s->each; i++)
            if (w->found_value[i] < w->found_value[worst]) worst = i;
        spot = worst;
    } else {
        s->stored++;
    }
    memcpy(w->found + spot * s->p->n, w->chosen, (size_t)s->big * sizeof *w->chosen);
    w->found_mask[spot] = mask;
    w->found_value[spot] = value;
    if (s->stored < s->each) return;
    double least = INFINITY;
    for (int64_t i = 0; i < s->each; i++) least = smaller(least, w->found_value[i]);
    s->threshold = larger(s->threshold, least);
    s->bound = larger(s->bound, s->threshold);
}

/* All branched items are decided: find the best subsets in the table, by branch and bound in its tree. The profit of
   the partial symbol is convex in what it takes, so over a range of sums it is largest at one of its ends. */
static void complete(branching *s, double used, double gained) {
    const workspace *w = s->w;
    const double room = s->p->capacity - used;
    const int64_t first = count_below(s->subsets, w->sums, room - s->weight - SLACK);
    const int64_t last = count_below(s->subsets, w->sums, room + SLACK) - 1;
    int64_t stack[64]; /* two for each level of the tree, which has at most 31 */
    int top = 0;
    if (first <= last) stack[top++] = 1;
    while (top > 0) {
        const int64_t node = stack[--top];
        s->nodes++;
        int64_t a = node, b = node;
        while (a < s->subsets) a = 2 * a, b = 2 * b + 1;
        a = a - s->subsets > first ? a - s->subsets : first;
        b = b - s->subsets < last ? b - s->subsets : last;
        if (a > b || s->tree[node] == -INFINITY) continue;
        double value = gain_beside(s, room, a);
        if (b > a) value = larger(value, gain_beside(s, room, b));
        const double reach = gained + s->tree[node] + value;
        if (reach <= s->threshold) continue;
        if (node >= s->subsets) {
            keep(s, w->masks[node - s->subsets], reach);
        } else if (s->nodes >= s->most_nodes) {
            s->bound = larger(s->bound, reach);
        } else {
            stack[top++] = 2 * node;
            stack[top++] = 2 * node + 1;
        }
    }
}

/* Decide the items from k on, each first taken, then left. Of items of equal weight the more profitable come first,
   so one whose twin before it was left need not be taken. */
static void branch(branching *s, int64_t k, double used, double gained) {
    const workspace *w = s->w;
    for (;; k++) {
        if (!promising(s, k, used, gained)) return;
        if (k == s->big) {
            complete(s, used, gained);
            return;
        }
        const bool twin = k > 0 && w->item_weight[k] == w->item_weight[k - 1] && !w->chosen[k - 1];
        if (!twin && used + w->item_weight[k] <= s->p->capacity + SLACK) {
            w->chosen[k] = true;
            branch(s, k + 1, used + w->item_weight[k], gained + w->item_profit[k]);
        }
        w->chosen[k] = false;
    }
}

/* The symbols by decreasing weight, equal weights by decreasing profit: once the large ones are decided, the
   relaxation over the small ones is tight. */
static void order_symbols(const problem *p, workspace *w) {
    weights_and_profits(p, w->weight, w->profit);
    descending(p->n, w->profit, w->by_profit, w->spare);
    for (int64_t m = 0; m < p->n; m++) w->rate[m] = w->weight[w->by_profit[m]];
    descending(p->n, w->rate, w->order, w->spare);
    for (int64_t m = 0; m < p->n; m++) w->order[m] = w->by_profit[w->order[m]];
}

/* Branch and bound over all columns whose partial symbol stands at `rank` of the order. The best columns of profit
   above the threshold are kept. Any other one has profit <= bound, or no more than one that is kept and differs from
   it by an exchange of symbols of equal weight. */
static branching search_partial(const problem *p, limits l, workspace *w, int64_t rank) {
    const int64_t j = w->order[rank], big = p->n - l.tabled, banned = rank - big;
    branching s = {.p = p, .w = w, .pi = p->pi[j], .y = p->y[j], .weight = w->weight[j], .items = p->n - 1};
    s.base = s.pi * p->table[0] - s.y * p->low;
    s.big = banned >= 0 ? big : big - 1;
    s.subsets = (int64_t)1 << l.tabled;
    s.tree = banned >= 0 ? w->tree_without : w->tree;
    s.each = l.each, s.most_nodes = l.most_nodes;
    s.threshold = s.bound = l.threshold;
    int64_t m = 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (i == rank) continue;
        w->items[m] = w->order[i];
        w->item_weight[m] = w->weight[w->order[i]];
        w->item_profit[m++] = w->profit[w->order[i]];
    }
    if (banned >= 0) best_gains(w, s.subsets, (uint32_t)1 << banned, w->tree_without);
    sort_items(&s);
    branch(&s, 0, 0.0, 0.0);
    return s;
}

/* Columns of profit above `threshold`, up to `each` for every partial symbol, and a bound on all others.

   `most_nodes` limits the search for each partial symbol; the bound holds all the same. With `only_best` the
   threshold rises to the best profit found. The `tabled` <= n smallest symbols are looked up in a table of their
   2^tabled subset sums instead of being branched on. */
void search(const problem *p, limits l, workspace *w, columns *found) {
    order_symbols(p, w);
    const int64_t *small = w->order + (p->n - l.tabled);
    subset_table(w, small, l.tabled);
    best_gains(w, (int64_t)1 << l.tabled, 0, w->tree);
    found->count = found->nodes = 0;
    found->bound = l.threshold;
    for (int64_t rank = p->n - 1; rank >= 0; rank--) {
        const branching s = search_partial(p, l, w, rank);
        found->nodes += s.nodes;
        found->bound = larger(found->bound, s.bound);
        for (int64_t c = 0; c < s.stored; c++, found->count++) {
            bool *set = found->sets + found->count * p->n;
            memset(set, 0, (size_t)p->n * sizeof *set);
            for (int64_t m = 0; m < s.big; m++) set[w->items[m]] = w->found[c * p->n + m];
            for (int64_t m = 0; m < l.tabled; m++)
                if (w->found_mask[c] >> m & 1) set[small[m]] = true;
            found->partial[found->count] = w->order[rank];
            found->values[found->count] = w->found_value[c];
            if (!l.only_best) continue;
            l.threshold = larger(l.threshold, w->found_value[c]);
            found->bound = larger(found->bound, l.threshold);
        }
    }
}

/* See `search`. */
EXPORT int64_t extremal_search(const problem *p, const limits *l, columns *found) {
    workspace *w = new_workspace(p->n, l->each, l->tabled);
    if (!w) return OUT_OF_MEMORY;
    search(p, *l, w, found);
    free_workspace(w);
    return 0;
}
