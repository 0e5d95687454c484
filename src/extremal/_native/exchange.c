/* Lift vectors for designs that estimate: local search for vertices of large x'Wx - y.x, and the best of all
   vertices where they are not too many to visit.

   A lift vector is 1 + x with -1 <= x_i <= excess and pi . x = 0. The search works on masses z_i = pi_i x_i, which sum
   to 0, with W_ij / (pi_i pi_j) and y_i / pi_i; exchanging mass between two symbols is then adding to one z what is
   taken from another. W is positive semidefinite on the plane, so that an exchange is best taken to its end: one of
   the two symbols becomes full or empty. */

#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 4e-15 /* what a mass that should be 0 may be */

/* x'Wx - y.x over the vectors of masses pi, or the same in z. */
typedef struct {
    int64_t n;
    const double *pi;
    double excess;
    const double *W, *y;
} form;

/* The state of one search: limits of z, the slope of half the objective, and the current z. */
typedef struct {
    int64_t n;
    double excess;
    const double *pi, *W, *y;
    double *low, *high, *slope, *z, *own, *gain; /* `own` is W's diagonal, `gain` room for what exchanges are worth */
} state;

/* Move as much mass as there is room for from symbol k to symbol i. */
static void exchange(state *s, int64_t i, int64_t k) {
    const double room = s->high[i] - s->z[i], held = s->z[k] - s->low[k];
    const double old_i = s->z[i], old_k = s->z[k];
    if (room <= held) {
        s->z[i] = s->high[i];
        s->z[k] = room == held ? s->low[k] : larger(s->z[k] - room, s->low[k]);
    } else {
        s->z[k] = s->low[k];
        s->z[i] = smaller(s->z[i] + held, s->high[i]);
    }
    const double di = s->z[i] - old_i, dk = s->z[k] - old_k;
    const double *row_i = s->W + i * s->n, *row_k = s->W + k * s->n;
    for (int64_t j = 0; j < s->n; j++) s->slope[j] += row_i[j] * di + row_k[j] * dk;
}

/* Exchange mass between symbols within their limits until at most one is left. */
static int64_t settle(state *s) {
    int64_t first = -1;
    for (int64_t i = 0; i < s->n; i++) {
        if (!(s->z[i] > s->low[i] && s->z[i] < s->high[i])) continue;
        if (first < 0) {
            first = i;
            continue;
        }
        const double *W = s->W;
        const double bend = W[i * s->n + i] + W[first * s->n + first] - 2 * W[i * s->n + first];
        const double tilt = 2 * (s->slope[i] - s->slope[first]);
        const double t = smaller(s->high[i] - s->z[i], s->z[first] - s->low[first]);
        const double b = smaller(s->z[i] - s->low[i], s->high[first] - s->z[first]);
        if (t * (tilt + t * bend) >= b * (b * bend - tilt))
            exchange(s, i, first);
        else
            exchange(s, first, i);
        if (s->z[i] > s->low[i] && s->z[i] < s->high[i])
            first = i;
        else if (!(s->z[first] > s->low[first] && s->z[first] < s->high[first]))
            first = -1;
    }
    return first;
}

/* The x of a symbol that balances `total`; at a limit if it misses it by rounding only. */
static double balancing(double mass, double excess, double total) {
    const double x = -total / mass;
    if (mass * (x + 1.0) <= ROUNDING) return -1.0;
    if (mass * (excess - x) <= ROUNDING * (1.0 + excess)) return excess;
    return x;
}

/* Complete x, whose symbols but the partial one are set. */
static void complete(int64_t n, const double *pi, double excess, int64_t partial, double *x) {
    if (partial < 0) return;
    double total = 0.0;
    for (int64_t j = 0; j < n; j++)
        if (j != partial) total += pi[j] * x[j];
    x[partial] = balancing(pi[partial], excess, total);
}

/* The exchange with symbol i that raises the objective most; false if none does by more than `least`. */
static bool improve(state *s, int64_t i, double least) {
    const int64_t n = s->n;
    const double *row = s->W + i * n;
    const double room = s->high[i] - s->z[i], held = s->z[i] - s->low[i], slope = s->slope[i];
    for (int64_t k = 0; k < n; k++) {
        const double bend = s->own[i] + s->own[k] - 2 * row[k], tilt = 2 * (slope - s->slope[k]);
        const double in = smaller(room, s->z[k] - s->low[k]), out = smaller(held, s->high[k] - s->z[k]);
        s->gain[k] = larger(in * (tilt + in * bend), out * (out * bend - tilt));
    }
    int64_t who = -1;
    for (int64_t k = 0; k < n; k++)
        if (s->gain[k] > least && k != i) least = s->gain[k], who = k;
    if (who < 0) return false;
    const double in = smaller(room, s->z[who] - s->low[who]);
    const double bend = s->own[i] + s->own[who] - 2 * row[who], tilt = 2 * (slope - s->slope[who]);
    if (in * (tilt + in * bend) >= least)
        exchange(s, i, who);
    else
        exchange(s, who, i);
    return true;
}

/* Move x to a vertex where no exchange raises the objective, in so many sweeps over the symbols at most. */
static void climb(state *s, double *x, int64_t first, int64_t sweeps) {
    const int64_t n = s->n;
    for (int64_t i = 0; i < n; i++) {
        s->low[i] = -s->pi[i];
        s->high[i] = s->pi[i] * s->excess;
        s->own[i] = s->W[i * n + i];
        s->z[i] = x[i] >= s->excess ? s->high[i] : x[i] <= -1.0 ? s->low[i] : s->pi[i] * x[i];
    }
    double scale = 0.0;
    for (int64_t j = 0; j < n; j++) s->slope[j] = -0.5 * s->y[j];
    for (int64_t i = 0; i < n; i++) { /* W is symmetric: by its rows, so that sums of several symbols go on at once */
        const double *row = s->W + i * n, z = s->z[i];
        for (int64_t j = 0; j < n; j++) s->slope[j] += row[j] * z;
    }
    for (int64_t i = 0; i < n; i++) scale += fabs(s->slope[i] * s->z[i]);
    for (int64_t sweep = 0; sweep < sweeps; sweep++) {
        bool moved = false;
        for (int64_t turn = 0; turn < n; turn++) {
            const int64_t i = (turn + first) % n;
            /* Mass moves from a symbol that is not empty to one that is not full: it is enough to go through either. */
            if (s->excess < 1.0 ? s->z[i] >= s->high[i] : s->z[i] <= s->low[i]) continue;
            /* One that is partial may exchange with many: masses too small for its limits to be reached. */
            for (int64_t again = 0; again < n && improve(s, i, 1e-12 * scale); again++) {
                moved = true;
                if (!(s->z[i] > s->low[i] && s->z[i] < s->high[i])) break;
            }
        }
        if (!moved) break;
    }
    const int64_t partial = settle(s);
    for (int64_t i = 0; i < n; i++) x[i] = s->z[i] >= s->high[i] ? s->excess : -1.0;
    complete(n, s->pi, s->excess, partial, x);
}

/* climb for `rows` vectors, one after another, the search for the first of them from symbol `first` on.

   The prices y grow by `pull` times `sum`, the sum of all vectors before, to draw it to 0. */
EXPORT int64_t extremal_climb(const form *f, const double *pull, double *sum, int64_t first, int64_t sweeps, int64_t rows,
                              double *X) {
    const int64_t n = f->n;
    double *room = calloc((size_t)(7 * n), sizeof(double));
    if (room == NULL) return OUT_OF_MEMORY;
    double *price = room + 4 * n;
    state s = {n, f->excess, f->pi, f->W, price, room, room + n, room + 2 * n, room + 3 * n, room + 5 * n, room + 6 * n};
    for (int64_t a = 0; a < rows; a++) {
        double *x = X + a * n;
        for (int64_t i = 0; i < n; i++) price[i] = f->y[i] + pull[i] * sum[i];
        climb(&s, x, (first + a) % n, sweeps);
        for (int64_t i = 0; i < n; i++) sum[i] += x[i];
    }
    free(room);
    return 0;
}

/* For each of `rows` orders of the symbols the vertex whose symbols are full in this order as far as mass reaches.
   Returns -1 if an order holds what is no symbol. */
EXPORT int64_t extremal_fill(int64_t n, int64_t rows, const double *pi, double excess, const int64_t *orders, double *X) {
    for (int64_t a = 0; a < rows; a++, orders += n, X += n) {
        double room = 1.0 / (1.0 + excess);
        int64_t partial = -1;
        for (int64_t i = 0; i < n; i++) X[i] = -1.0;
        for (int64_t k = 0; k < n && partial < 0; k++) {
            const int64_t i = orders[k];
            if (i < 0 || i >= n) return -1;
            if (pi[i] <= room) {
                X[i] = excess;
                room -= pi[i];
            } else
                partial = i;
        }
        complete(n, pi, excess, partial, X);
    }
    return 0;
}

/* All vertices, visited one by one, the best of them kept; see extremal_best_vertices. */
typedef struct {
    int64_t n;
    const double *pi;
    double excess, step; /* what being chosen adds to x */
    const bool *chosen, *alike;
    const double *own, *y; /* W's diagonal, the prices */
    int64_t keep, kept;
    queued *heap; /* bounds are -values: the smallest first; places are rows of X */
    double *X;
    double best;
    bool undefined; /* a value that is no number */
} listing;

/* Keep the vertex of the chosen symbols and a partial one, or none (-1), if it is among the best so far. */
static void keep_vertex(listing *l, double value, int64_t partial) {
    if (value != value) l->undefined = true;
    if (value > l->best) l->best = value;
    if (l->keep == 0 || (l->kept == l->keep && !(value > -l->heap[0].bound))) return;
    const int64_t n = l->n;
    const bool full = l->kept == l->keep;
    const queued v = {-value, full ? l->heap[0].place : l->kept};
    if (full)
        replace_first(l->heap, l->kept, v);
    else
        push(l->heap, l->kept++, v);
    double *x = l->X + v.place * n;
    for (int64_t i = 0; i < n; i++) x[i] = l->chosen[i] == (l->step > 0) ? l->excess : -1.0;
    complete(n, l->pi, l->excess, partial, x);
}

/* Visit the vertices of the chosen symbols, with so much room left for a partial one; how many there are.

   `value` and `slope` (Wx) are those of x with no partial symbol. */
static int64_t visit(listing *l, double room, double noise, double value, const double *slope) {
    if (room <= noise) {
        keep_vertex(l, value, -1);
        return 1;
    }
    int64_t count = 0;
    for (int64_t j = 0; j < l->n && l->pi[j] > room + noise; j++) {
        if (l->chosen[j] || (j > 0 && l->alike[j - 1] && !l->chosen[j - 1])) continue;
        const double d = l->step * (room / l->pi[j]);
        keep_vertex(l, value + d * (2 * slope[j] + d * l->own[j] - l->y[j]), j);
        count++;
    }
    return count;
}

/* The largest x'Wx - y.x of all vertices, and the `keep` vertices of the largest values, as a heap of -values and rows of
   X; fewer if there are fewer. Returns the number of vertices, or most + 1 if there are more than `most`, or if going
   through them takes more sets than that; then nothing else is of use.

   pi must be in decreasing order. Chosen sets, of the full or the empty symbols, whichever hold less mass, are visited
   depth first, the smallest masses first: a symbol that does not fit into the room left rules out all before it. What
   fits up to rounding counts as fitting. `alike` says of a symbol that neither pi, W nor y tell it from the next one:
   of vertices that differ by exchanges of such symbols one is visited, with the last ones chosen. A set's value follows
   from that of the set without its last symbol. */
EXPORT int64_t extremal_best_vertices(const form *f, const bool *alike, int64_t most, int64_t keep, double *best,
                                      queued *heap, double *X) {
    const int64_t n = f->n;
    const double *pi = f->pi, excess = f->excess, *W = f->W, *y = f->y;
    double *reals = malloc((size_t)(2 * (n + 1) + n + (n + 1) * n) * sizeof(double));
    int64_t *stack = malloc((size_t)(n + 1) * (sizeof(int64_t) + sizeof(bool)));
    if (reals == NULL || stack == NULL) {
        free(reals), free(stack);
        return OUT_OF_MEMORY;
    }
    double *rooms = reals, *worth = rooms + n + 1, *own = worth + n + 1, *slopes = own + n;
    bool *chosen = (bool *)(stack + n + 1);
    const bool empty = excess < 1.0;
    const double base = empty ? excess : -1.0, step = empty ? -1.0 - excess : 1.0 + excess;
    worth[0] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        chosen[i] = false;
        own[i] = W[i * n + i];
        slopes[i] = 0.0;
        for (int64_t j = 0; j < n; j++) slopes[i] += base * W[i * n + j];
        worth[0] += base * (slopes[i] - y[i]);
    }
    listing l = {n, pi, excess, step, chosen, alike, own, y, keep, 0, heap, X, -INFINITY, false};
    rooms[0] = (empty ? excess : 1.0) / (1.0 + excess);
    const double noise = ROUNDING * rooms[0];
    int64_t count = 0, depth = 0, i = n, sets = 0;
    bool fresh = true;
    while (count <= most) {
        const double room = rooms[depth];
        if (fresh && sets++ == most) count = most + 1;
        if (fresh && count <= most) count += visit(&l, room, noise, worth[depth], slopes + depth * n);
        i--;
        fresh = i >= 0 && room > noise && pi[i] <= room + noise;
        while (fresh && i + 1 < n && alike[i] && !chosen[i + 1]) fresh = --i >= 0 && pi[i] <= room + noise;
        if (fresh) {
            const double *slope = slopes + depth * n, *row = W + i * n;
            double *next = slopes + (depth + 1) * n;
            worth[depth + 1] = worth[depth] + step * (2 * slope[i] + step * own[i] - y[i]);
            for (int64_t j = 0; j < n; j++) next[j] = slope[j] + step * row[j];
            stack[depth++] = i;
            rooms[depth] = room - pi[i];
            chosen[i] = true;
        } else if (depth == 0) {
            break;
        } else {
            i = stack[--depth];
            chosen[i] = false;
        }
    }
    *best = l.undefined ? INFINITY : l.best;
    free(reals), free(stack);
    return count > most ? most + 1 : count;
}
