/* Pricing by a table of all vertices of a small problem. */

#include "native.h"

#include <math.h>

/* A table of vertices, see extremal_vertex_sets, and what is known of each: what its partial symbol gains, and has above
   the lowest lift. */
typedef struct {
    int64_t n, count;
    const int32_t *sets;
    const int64_t *starts;
    const double *gain, *above;
    double *total; /* room for 2^n numbers */
} vertex_table;

/* All (set, partial symbol) such that the set leaves some room, and less than the partial symbol would fill.

   `room` is what each of the 2^n sets, numbered by its bits, leaves of the capacity. A set that leaves nothing comes
   with one of its own symbols for the partial one. `sets`, with room for n 2^(n-1), is sorted by partial symbol;
   starts[j] is where those of j begin, starts[n] the number of all, which is returned. */
EXPORT int64_t extremal_vertex_sets(int64_t n, const double *room, double noise, int32_t *sets, int64_t *starts) {
    int64_t count = 0;
    starts[0] = 0;
    for (int64_t j = 0; j < n; j++) {
        const int64_t bit = (int64_t)1 << j;
        for (int64_t s = 0; s < (int64_t)1 << n; s++) {
            if (s & bit) continue;
            const bool full = fabs(room[s | bit]) <= noise && (s & (bit - 1)) == 0; /* once, with its first symbol */
            if (room[s] > noise && (full || room[s | bit] < -noise)) sets[count++] = (int32_t)s;
        }
        starts[j + 1] = count;
    }
    return count;
}

/* Put a vertex among the best of its partial symbol, which are sorted by decreasing profit; the last one goes. */
static void insert(int64_t *best, double *value, int64_t each, int64_t v, double reached) {
    int64_t k = each - 1;
    for (; k > 0 && value[k - 1] < reached; k--) {
        value[k] = value[k - 1];
        best[k] = best[k - 1];
    }
    value[k] = reached;
    best[k] = v;
}

/* The `each` vertices of largest profit above the threshold for every partial symbol, and the largest profit of all.

   Vertices come as numbers, -1 where there are no more, sorted by decreasing profit. Returns -1 if `starts` does not fit
   the vertices. */
EXPORT int64_t extremal_vertex_price(const vertex_table *t, const double *profit, const double *y, double threshold,
                                     int64_t each, int64_t *best, double *value, double *largest) {
    const int64_t n = t->n, *starts = t->starts;
    double *total = t->total;
    const uint32_t all = ((uint32_t)1 << n) - 1;
    if (starts[0] < 0 || starts[n] > t->count) return -1;
    for (int64_t j = 0; j < n; j++)
        if (starts[j] > starts[j + 1]) return -1;
    total[0] = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t s = 0; s < (int64_t)1 << i; s++) total[((int64_t)1 << i) + s] = total[s] + profit[i];
    *largest = -INFINITY;
    for (int64_t j = 0; j < n; j++, best += each, value += each) {
        for (int64_t k = 0; k < each; k++) best[k] = -1, value[k] = threshold;
        const double price = y[j];
        double top = *largest;
        for (int64_t v = starts[j]; v < starts[j + 1]; v++) {
            const double reached = total[(uint32_t)t->sets[v] & all] + t->gain[v] - price * t->above[v];
            top = larger(reached, top);
            if (reached > value[each - 1]) insert(best, value, each, v, reached);
        }
        *largest = top;
    }
    return 0;
}
