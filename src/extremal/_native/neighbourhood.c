/* Large-neighbourhood search for good columns. */

#include "native.h"

#include <math.h>
#include <stdlib.h>

/* Random numbers that are the same everywhere: splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_word(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state) { return (double)(next_word(state) >> 11) * 0x1p-53; }

/* One of 0 .. n - 1, for n < 2^32. */
static int64_t below(uint64_t *state, int64_t n) { return (int64_t)((next_word(state) >> 32) * (uint64_t)n >> 32); }

/* Close to normal: the sum of twelve uniform numbers has variance 1. No logarithm, which differs between systems. */
static double noise(uint64_t *state) {
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += uniform(state);
    return sum;
}

/* Between 1/128 and 8, every power of two in it equally likely. */
static double magnitude(uint64_t *state) {
    double scale = 0x1p-7 * (1.0 + uniform(state));
    for (int64_t k = below(state, 10); k > 0; k--) scale *= 2.0;
    return scale;
}

/* Arrays of all symbols, and what a try makes of them. */
typedef struct {
    const problem *p;
    double *weight, *profit, *ratio, *noisy;
    int64_t *order, *spare;
    bool *fixed, *freed; /* full by greed; open to exact choice */
    int64_t free;
    double *free_pi, *free_y; /* of the freed symbols, in the order of `chosen` */
    int64_t *chosen;
    double constant; /* the value of a column that is low everywhere */
} neighbours;

/* The typical distance of a ratio from the critical one, that of the symbol that no longer fits. */
static double typical_distance(neighbours *s) {
    const int64_t n = s->p->n;
    descending(n, s->ratio, s->order, s->spare);
    double room = s->p->capacity;
    int64_t k = 0;
    while (k < n - 1 && s->weight[s->order[k]] <= room) room -= s->weight[s->order[k++]];
    const double critical = s->ratio[s->order[k]];
    for (int64_t i = 0; i < n; i++) s->noisy[i] = fabs(s->ratio[i] - critical);
    descending(n, s->noisy, s->order, s->spare);
    return s->noisy[s->order[n / 2]] + 1e-12 * fabs(critical) + 1e-300;
}

/* Fill greedily by noisy profit ratio; then free some symbols, half around the one that no longer fitted and half
   anywhere. */
static void fill_and_free(neighbours *s, double spread, uint64_t *state) {
    const int64_t n = s->p->n, half = s->free / 2;
    const double scale = spread * magnitude(state);
    for (int64_t i = 0; i < n; i++) {
        s->noisy[i] = s->ratio[i] + scale * noise(state);
        s->fixed[i] = s->freed[i] = false;
    }
    descending(n, s->noisy, s->order, s->spare);
    double room = s->p->capacity;
    int64_t k = 0;
    for (; k < n && s->weight[s->order[k]] <= room; k++) {
        s->fixed[s->order[k]] = true;
        room -= s->weight[s->order[k]];
    }
    int64_t first = k - s->free / 4 < n - half ? k - s->free / 4 : n - half;
    if (first < 0) first = 0;
    for (int64_t m = first; m < first + half; m++) s->freed[s->order[m]] = true;
    for (int64_t count = half; count < s->free;) {
        const int64_t i = below(state, n);
        if (s->freed[i]) continue;
        s->freed[i] = true;
        count++;
    }
}

/* The pricing problem over the freed symbols; `gain` receives what the fixed ones gain. Returns whether the freed can
   use what the fixed leave of the capacity. */
static bool open_problem(neighbours *s, problem *open, double *gain) {
    double open_weight = 0.0;
    int64_t count = 0;
    open->capacity = s->p->capacity;
    *gain = 0.0;
    for (int64_t i = 0; i < s->p->n; i++) {
        if (s->freed[i]) {
            s->free_pi[count] = s->p->pi[i];
            s->free_y[count] = s->p->y[i];
            s->chosen[count++] = i;
            open_weight += s->weight[i];
        } else if (s->fixed[i]) {
            open->capacity -= s->weight[i];
            *gain += s->profit[i];
        }
    }
    return open->capacity >= 0.0 && open->capacity <= open_weight;
}

/* Write the best column that the search over the freed symbols found; returns its value, -inf if there is none. */
static double best_column(const neighbours *s, const columns *found, bool *set, int64_t *partial) {
    int64_t best = 0;
    if (found->count == 0) return -INFINITY;
    for (int64_t c = 1; c < found->count; c++)
        if (found->values[c] > found->values[best]) best = c;
    for (int64_t i = 0; i < s->p->n; i++) set[i] = s->fixed[i] && !s->freed[i];
    for (int64_t m = 0; m < s->free; m++) set[s->chosen[m]] = found->sets[best * s->free + m];
    *partial = s->chosen[found->partial[best]];
    return found->values[best];
}

static void search_around(neighbours *s, limits l, workspace *w, columns *found, uint64_t state, const columns *out) {
    const double spread = typical_distance(s);
    problem open = *s->p;
    open.n = s->free, open.pi = s->free_pi, open.y = s->free_y;
    for (int64_t a = 0; a < out->count; a++) {
        double gain;
        out->values[a] = -INFINITY;
        fill_and_free(s, spread, &state);
        if (!open_problem(s, &open, &gain)) continue;
        search(&open, l, w, found);
        out->values[a] = best_column(s, found, out->sets + a * s->p->n, out->partial + a) + gain + s->constant;
    }
}

/* One good column for each try, of which there are out->count; tries that lead to nothing have the value -inf. Each try
   fills greedily with noise, frees `free_symbols` <= n symbols and chooses among those exactly. Returns 0. */
EXPORT int64_t extremal_neighbourhoods(const problem *p, int64_t free_symbols, int64_t tabled, uint64_t seed,
                                       const columns *out) {
    const int64_t n = p->n;
    const limits l = {-INFINITY, 1, 2000, true, tabled};
    const size_t real = (size_t)(4 * n + 3 * free_symbols), whole = (size_t)(2 * n + 2 * free_symbols);
    const size_t flags = (size_t)(2 * n + free_symbols * free_symbols);
    double *reals = malloc(real * sizeof *reals);
    int64_t *wholes = malloc(whole * sizeof *wholes);
    bool *bools = malloc(flags * sizeof *bools);
    workspace *w = new_workspace(free_symbols, 1, tabled);
    if (reals && wholes && bools && w) {
        neighbours s = {.p = p, .free = free_symbols, .constant = 0.0};
        s.weight = reals, s.profit = reals + n, s.ratio = reals + 2 * n, s.noisy = reals + 3 * n;
        s.free_pi = reals + 4 * n, s.free_y = s.free_pi + free_symbols;
        s.order = wholes, s.spare = wholes + n, s.chosen = wholes + 2 * n;
        s.fixed = bools, s.freed = bools + n;
        columns found = {bools + 2 * n, s.chosen + free_symbols, s.free_y + free_symbols, 0, 0, 0.0};
        weights_and_profits(p, s.weight, s.profit);
        for (int64_t i = 0; i < n; i++) {
            s.constant += p->pi[i] * p->table[0] - p->y[i] * p->low;
            s.ratio[i] = s.profit[i] / s.weight[i];
        }
        search_around(&s, l, w, &found, seed, out);
    }
    const bool done = reals && wholes && bools && w;
    free(reals);
    free(wholes);
    free(bools);
    free_workspace(w);
    return done ? 0 : OUT_OF_MEMORY;
}
